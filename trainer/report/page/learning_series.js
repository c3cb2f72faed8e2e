// What the charts of a run's learning draw: series over steps, samples, tokens or time, and
// smoothed.

// The ways to measure how far a run is. `at(run, step)` is a number, or null where the run cannot
// say.
const kProgress = [
  {value: "step", label: "step", unit: "step", at: (learning, step) => step},
  {
    value: "samples",
    label: "samples",
    unit: "samples",
    at: (learning, step) =>
        isNumber(learning.samples_per_step) ? step * learning.samples_per_step : null
  },
  {
    value: "tokens",
    label: "tokens",
    unit: "tokens",
    at: (learning, step) =>
        isNumber(learning.tokens_per_step) ? step * learning.tokens_per_step : null
  },
  {value: "wall", label: "wall time", unit: "s", at: (learning, step) => wallTime(learning, step)},
];

function wallTime(learning, step) {
  const clock = learning.clock || {};
  if (!list(clock.step).length || list(clock.step).length !== list(clock.wall).length) return null;
  if (!learning.wallScale) {
    const single = clock.step.length === 1;
    const scale = single ? () => clock.wall[0] :
                           d3.scaleLinear().domain(clock.step).range(clock.wall).clamp(true);
    Object.defineProperty(learning, "wallScale", {value: scale});
  }
  return learning.wallScale(step);
}

function canMeasure(learnings, progress) {
  return learnings.every((learning) => isNumber(progress.at(learning, 1)));
}

// {x: [...], y: [...]} of a line in a way to measure, of as many points as both arrays have.
function linePoints(line, progress) {
  line.points = line.points || {};
  if (!line.points[progress.value]) {
    const steps = list(line.series.step), values = list(line.series.value);
    const count = Math.min(steps.length, values.length), x = new Array(count), y = new Array(count);
    for (let i = 0; i < count; ++i) {
      x[i] = progress.at(line.learning, steps[i]);
      y[i] = isNumber(values[i]) ? values[i] : null;
    }
    line.points[progress.value] = {x, y};
  }
  return line.points[progress.value];
}

// Exponential moving average over steps, not over points: a series with few points is not drawn
// behind one with many. A value's weight falls by `weight` in a thousandth of `length` steps; sums
// are divided by their weights.
function smoothed(line, weight, length) {
  const values = list(line.series.value), steps = list(line.series.step);
  if (!weight) return values;
  if (line.smoothing !== weight) {
    let sum = 0, weights = 0, before = steps[0];
    line.smoothing = weight;
    line.smooth = values.map((value, i) => {
      if (!isNumber(value)) return null;
      const kept = Math.pow(weight, 1000 * (steps[i] - before) / (length || 1));
      before = steps[i];
      sum = kept * sum + value;
      weights = kept * weights + 1;
      return sum / weights;
    });
  }
  return line.smooth;
}

// First and last index of what a range shows, with a point more on each side so that lines reach
// the border.
function indicesIn(x, domain) {
  return [
    Math.max(0, d3.bisectLeft(x, domain[0]) - 1),
    Math.min(x.length, d3.bisectRight(x, domain[1]) + 1)
  ];
}

function nearestIndex(x, value) {
  const right = d3.bisectLeft(x, value);
  if (right === 0 || right >= x.length) return Math.max(0, Math.min(x.length - 1, right));
  return value - x[right - 1] <= x[right] - value ? right - 1 : right;
}

// Groups of series, by the panel that shows them. Names of a group with `paired` that end alike
// share a chart, as train/loss and eval/loss.
const kPanels = [
  {label: "Loss", main: true, groups: ["loss"]},
  {label: "Metrics and optimizer", groups: ["metric", "rate", "norm"]},
  {label: "Speed and memory", groups: ["speed", "memory"]},
  {label: "Simulated time", groups: ["virtual"]},
];
const kPairedGroups = ["loss", "metric"];

// Those of no known group are metrics.
function groupOfSeries(series) {
  return kPanels.some((panel) => panel.groups.includes(series.group)) ? series.group : "metric";
}

function chartsOfGroup(group, runs) {
  const byTitle = new Map();
  runs.forEach((run, index) => {
    for (const series of list(run.learning.series)) {
      if (groupOfSeries(series) !== group) continue;
      const name = asText(series.name),
            title = kPairedGroups.includes(group) ? name.slice(name.lastIndexOf("/") + 1) : name;
      if (!byTitle.has(title)) byTitle.set(title, {title, names: [], lines: []});
      const chart = byTitle.get(title);
      if (!chart.names.includes(name)) chart.names.push(name);
      chart.lines.push(
          {series, learning: run.learning, run: index, name, kind: chart.names.indexOf(name)});
    }
  });
  for (const chart of byTitle.values()) chart.lines.forEach((line) => nameLine(line, chart, runs));
  return [...byTitle.values()];
}

// Runs differ in colour, what one run draws in a chart in colour and dashes.
function nameLine(line, chart, runs) {
  const many = runs.length > 1, colour = many ? line.run : line.kind;
  const dash = line.kind + (many ? Math.floor(line.run / kColours) : 0);
  line.mark = `line c${colour % kColours} d${dash % 3}`;
  line.label =
      many ? runLabel(runs, line.run, chart.names.length > 1 ? line.name : null) : line.name;
}

const kColours = 8;

// Runs of one name are told apart by their folders.
function runName(runs, index) {
  const run = runs[index], name = asText(run.name);
  const isShared = runs.some((other, i) => i !== index && asText(other.name) === name);
  return isShared && run.folder ? `${name} (${asText(run.folder)})` : name;
}

// The colour and the dashes of a run's curves.
function runMark(index) {
  return `mark line c${index % kColours} d${Math.floor(index / kColours) % 3}`;
}

function runLabel(runs, index, name) {
  const run = plainText(runName(runs, index));
  return name ? `${run}: ${name}` : run;
}

function unitOfSeries(name) {
  const rules = [
    [/_ms$/, "ms"], [/bytes/, "B"], [/tokens_per_s|tok/, "tokens/s"],
    [/samples_per_s/, "samples/s"], [/\/ups$/, "steps/s"], [/_s$/, "s"], [/_mb$/, "MB"]
  ];
  const rule = rules.find(([pattern]) => pattern.test(name));
  return rule ? rule[1] : "";
}

// Step: where the time of a mean step goes, which steps were unlike the others and why, and how
// times are spread.

const kStepGroups = {
  "device": "c0",
  "all-reduce": "c1",
  "input": "c3",
  "host": "c4",
  "pauses": "c6",
  "other": "c5"
};

function stepSection(run) {
  const step = run.step || {}, strip = step.strip || {}, spread = step.distribution || {};
  const facts = [];
  if (isNumber(step.mean_ms)) facts.push({name: "mean", value: millisecondsText(step.mean_ms)});
  for (const each of list(step.quantiles))
    facts.push({name: each.name, value: millisecondsText(each.ms)});
  if (step.simulated && isNumber(step.simulated.mean_ms)) {
    facts.push({
      name: `mean on ${plainText(step.simulated.device)}, simulated`,
      value: millisecondsText(step.simulated.mean_ms)
    });
  }
  const odd = list(strip.odd);
  return [
    facts.length ? factList(facts) : null,
    list(step.waterfall).length ? waterfallFigure(step) : null,
    list(strip.step).length || odd.length ? stepStrip(strip) : null,
    odd.length ? titledTable({
      caption: "Steps unlike the others",
      rows: odd,
      most: 30,
      columns: [
        {name: "step", kind: "count", value: (each) => each.step},
        {name: "time", kind: "ms", value: (each) => each.ms}, {
          name: "of the median",
          kind: "ratio",
          value: (each) =>
              isNumber(strip.median_ms) && strip.median_ms > 0 ? each.ms / strip.median_ms : null
        },
        {name: "cause", value: (each) => each.cause},
        {name: "what", wide: true, value: (each) => each.text}
      ]
    }) :
                 null,
    list(spread.counts).length && spread.to_ms > spread.from_ms ?
        stepHistogram(spread, step.quantiles) :
        null,
  ];
}

function waterfallFigure(step) {
  const bars = list(step.waterfall).filter((bar) => isNumber(bar.ms)),
        sum = total(bars.map((bar) => bar.ms));
  let at = 0;
  const rows = bars.map((bar) => {
    const from = at;
    at += bar.ms;
    const mark = Object.prototype.hasOwnProperty.call(kStepGroups, bar.group) ?
        kStepGroups[bar.group] :
        "c5";
    const text = millisecondsText(bar.ms);
    return {
      name: bar.name,
      text,
      spans: [{from, to: at, mark}],
      tip: [
        {text: bar.name, value: text, mark},
        {text: bar.group, value: percentText(sum ? bar.ms / sum : null)}
      ]
    };
  });
  rows.push(
      {name: "step", text: millisecondsText(sum), spans: [{from: 0, to: sum, mark: "soft-bar"}]});
  const groups = [...new Set(bars.map((bar) => bar.group))].filter(
      (group) => Object.prototype.hasOwnProperty.call(kStepGroups, group));
  return spansFigure(rows, {
    title: "Where a mean step's time goes",
    domain: [0, sum || 1],
    label: "ms",
    strong: rows.length - 1,
    name: "waterfall",
    says: `Waterfall of ${bars.length} parts that make a step of ${millisecondsText(sum)}`,
    legend: groups.map((group) => ({name: group, mark: kStepGroups[group]})),
    table: () => ({
      caption: "Parts of a mean step",
      rows: bars,
      columns: [
        {name: "part", value: (bar) => bar.name}, {name: "group", value: (bar) => bar.group},
        {name: "time", kind: "ms", value: (bar) => bar.ms},
        {name: "of the step", kind: "share", bar: true, value: (bar) => sum ? bar.ms / sum : null}
      ]
    }),
  });
}

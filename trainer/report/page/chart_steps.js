// The time of every step, with the odd ones marked, and how the times are spread.

const kCauseMarks = {
  "first step of a program": "c6",
  "recompilation": "c3",
  "evaluation": "c0",
  "save": "c2",
  "input": "c1",
  "host": "c4",
  "all-reduce": "c7",
  "value read": "c5",
  "slower kernels": "ink",
  "no free core": "c1 hollow",
  "runtime": "ink hollow",
};

function causeMark(cause) {
  return Object.prototype.hasOwnProperty.call(kCauseMarks, cause) ? kCauseMarks[cause] : "ink";
}

// Odd steps may lie outside of the measured ones, as the first step does: they are steps of the
// strip, too.
function stripPoints(strip) {
  const odd = list(strip.odd).filter((each) => isNumber(each.ms) && isNumber(each.step));
  const points = new Map();
  list(strip.step).slice(0, list(strip.ms).length).forEach((step, i) => {
    points.set(step, strip.ms[i]);
  });
  for (const each of odd) points.set(each.step, each.ms);
  const steps = [...points.keys()].filter(isNumber).sort(d3.ascending);
  return {steps, times: steps.map((step) => points.get(step)), odd};
}

function stepStrip(strip) {
  const {steps, times, odd} = stripPoints(strip);
  const causes = [...new Set(odd.map((each) => asText(each.cause)))];
  const longest = d3.max([...times, ...odd.map((each) => each.ms)]) || 1;
  const view = {
    log: longest > 8 * (strip.median_ms || longest),
    domain: null,
    cursor: null,
    full: () => {
      const [from, to] = steps.length ? d3.extent(steps) : [0, 0];
      return from === to ? [from - 0.5, to + 0.5] : [from, to];
    },
    change(domain) {
      view.domain = domain;
      redraw(figure.chart);
    },
    hover(value, event) {
      view.cursor = value;
      if (value === null) return hideTip();
      const index = nearestIndex(steps, value),
            found = odd.find((each) => each.step === steps[index]);
      const box = figure.chart.svg.node().getBoundingClientRect();
      showTip(
          [
            {text: `step ${d3.format(",")(steps[index])}`, value: millisecondsText(times[index])},
            ...(found ? [{text: `${plainText(found.cause)}: ${plainText(found.text)}`}] : [])
          ],
          event ? event.clientX : box.left + box.width / 2, event ? event.clientY : box.top + 40);
    },
  };
  const figure = chartFigure({
    title: `Time of each step, rank ${plainText(strip.rank)}${
        strip.thinned ? " (thinned: the longest of each range)" : ""}`,
    says: `Time of ${steps.length} steps; ${
        odd.length} of them are marked with the cause of their length`,
    height: 230,
    group: true,
    tools: [toggle(
        "log y", view.log,
        (on) => {
          view.log = on;
          redraw(figure.chart);
        })],
    legend: causes.map((cause) => ({name: cause, mark: `round ${causeMark(cause)}`})),
    keys: (event) => zoomKeys(view, event),
    table: () => ({
      caption: "Time of each step",
      rows: d3.range(Math.min(steps.length, times.length)),
      columns: [
        {name: "step", kind: "count", value: (i) => steps[i]},
        {name: "time", kind: "ms", value: (i) => times[i]}
      ]
    }),
    draw: (svg, width, height) =>
        drawStrip(svg, width, height, {steps, times, odd, view, median: strip.median_ms, longest}),
  });
  return figure;
}

function drawStrip(svg, width, height, strip) {
  const {steps, times, odd, view} = strip, margin = {left: 50, right: 22, top: 26, bottom: 42};
  const inside = height - margin.top - margin.bottom;
  const least = d3.min(times.filter((ms) => ms > 0)) || 1;
  const y = (view.log ? d3.scaleLog().domain([least * 0.8, strip.longest * 1.1]) :
                        d3.scaleLinear().domain([0, strip.longest]).nice())
                .range([inside, 0]);
  margin.left = leftMargin(svg, inside, {scale: y});
  const area = plotArea(svg, width, height, margin);
  const x = d3.scaleLinear().domain(view.domain || view.full()).range([0, area.width]);
  drawAxes(area, {scale: x, label: "step", whole: true}, {scale: y, label: "ms"});
  const [from, to] = indicesIn(steps, x.domain()), path = d3.path();
  for (let i = from; i < to; ++i) {
    if (!isNumber(times[i]) || times[i] <= 0) continue;
    path.moveTo(x(steps[i]), area.height);
    path.lineTo(x(steps[i]), y(times[i]));
  }
  area.marks.append("path")
      .attr("class", "sticks")
      .attr("d", path.toString())
      .style("stroke-width", Math.max(1, Math.min(6, 0.8 * area.width / Math.max(1, to - from))));
  if (isNumber(strip.median)) {
    area.marks.append("line")
        .attr("class", "mark-rule")
        .attr("x2", area.width)
        .attr("y1", y(strip.median))
        .attr("y2", y(strip.median));
    area.plot.append("text")
        .attr("class", "soft")
        .attr("x", area.width)
        .attr("y", -9)
        .attr("text-anchor", "end")
        .text(`dashed: median ${millisecondsText(strip.median)}`);
  }
  zoomable(area, svg, view, x);
  const seen =
      odd.filter((each) => each.step >= x.domain()[0] && each.step <= x.domain()[1] && each.ms > 0);
  showsTip(
      area.top.selectAll("circle")
          .data(seen)
          .enter()
          .append("circle")
          .attr("r", 4.5)
          .attr("class", (each) => `odd ${causeMark(each.cause)}`)
          .attr("cx", (each) => x(each.step))
          .attr("cy", (each) => y(each.ms)),
      (each) => [{text: `step ${d3.format(",")(each.step)}`, value: millisecondsText(each.ms)}, {
        text: `${plainText(each.cause)}: ${plainText(each.text)}`
      }]);
}

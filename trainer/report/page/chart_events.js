// Marks of a run's events above a chart: shapes and colours by kind.

const kEventKinds = {
  "resume": {shape: d3.symbolDiamond, mark: "c4"},
  "skipped": {shape: d3.symbolCross, mark: "c1", rule: true},
  "suspect save": {shape: d3.symbolSquare, mark: "c1"},
  "save": {shape: d3.symbolSquare, mark: "c2"},
  "evaluation": {shape: d3.symbolCircle, mark: "c0"},
  "recompilation": {shape: d3.symbolTriangle, mark: "c3", rule: true},
  "early stop": {shape: d3.symbolStar, mark: "c1", rule: true},
  "end": {shape: d3.symbolWye, mark: "ink"},
};
const kOtherEvent = {
  shape: d3.symbolCircle,
  mark: "ink"
};

function eventKind(kind) {
  return Object.prototype.hasOwnProperty.call(kEventKinds, kind) ? kEventKinds[kind] : kOtherEvent;
}

// Events with their place on x, `at`; those that x cannot measure are left out.
function placedEvents(learning, progress) {
  return list(learning.events)
      .map((event) => Object.assign({}, event, {at: progress.at(learning, event.step)}))
      .filter((event) => isNumber(event.at));
}

function drawEvents(lane, events, view, x, area) {
  const seen =
      list(events).filter((event) => event.at >= x.domain()[0] && event.at <= x.domain()[1]);
  const rules =
      lane.selectAll("line").data(seen.filter((event) => eventKind(event.kind).rule).slice(0, 100));
  rules.exit().remove();
  rules.enter()
      .append("line")
      .merge(rules)
      .attr("x1", (event) => x(event.at))
      .attr("x2", (event) => x(event.at))
      .attr("y1", -4)
      .attr("y2", area.height);
  const marks = lane.selectAll("path").data(seen);
  marks.exit().remove();
  showsTip(
      marks.enter()
          .append("path")
          .merge(marks)
          .attr("class", (event) => eventKind(event.kind).mark)
          .attr("transform", (event) => `translate(${x(event.at)},-11)`)
          .attr("d", (event) => d3.symbol().type(eventKind(event.kind).shape).size(46)()),
      (event) => [{text: `${event.kind}, step ${event.step}`}, {text: event.text}]);
}

// The shapes as a legend, for the kinds that there are.
function eventLegend(events) {
  const counts =
      d3.nest().key((event) => event.kind).rollup((some) => some.length).entries(list(events));
  return element("ul", {class: "legend"}, counts.slice(0, 12).map(({key, value}) => {
    const kind = eventKind(key);
    const svg = d3.create("svg")
                    .attr("class", "shape")
                    .attr("viewBox", "-6 -6 12 12")
                    .attr("aria-hidden", true);
    svg.append("path").attr("class", kind.mark).attr("d", d3.symbol().type(kind.shape).size(50)());
    return element("li", {}, svg.node(), prose(`${key} (${d3.format(",")(value)})`));
  }));
}

function eventTable(events) {
  return {
    caption: "Events of the run",
    rows: list(events),
    most: 50,
    columns: [
      {name: "step", kind: "count", value: (event) => event.step},
      {name: "event", value: (event) => event.kind},
      {name: "what", wide: true, value: (event) => event.text}
    ]
  };
}

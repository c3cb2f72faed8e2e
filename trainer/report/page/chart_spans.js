// Rows of horizontal bars over one axis: a waterfall, times side by side, what happens when. A name
// stands left of each row, a figure right of it; in narrow windows both stand above it.

// rows: [{name, text, spans: [{from, to, mark, hatched, part}], tip: [lines]}]; options: {label,
// domain, parts (bars above each other in a row), rules: [{at, text}], strong: index of a row}.
const kSpanMargin = {
  top: 8,
  bottom: 40,
  ruled: 38
};

const kNarrow = 560;

// Where a row's bars begin, how high they are, and the row.
function spanRow(options, width) {
  const bars = options.parts > 1 ? 11 * options.parts : 15, above = width < kNarrow ? 15 : 3;
  return {above, bars, height: above + bars + (width < kNarrow ? 5 : 3), narrow: width < kNarrow};
}

function spansHeight(rows, options, width) {
  const margin = list(options.rules).length ? kSpanMargin.ruled : kSpanMargin.top;
  return margin + rows.length * spanRow(options, width).height + kSpanMargin.bottom;
}

function drawSpans(svg, width, height, rows, options) {
  const rules = list(options.rules), row = spanRow(options, width);
  const names = row.narrow ? 8 : Math.min(230, Math.round(width * 0.26)),
        figures = row.narrow ? 16 : 76;
  const area = plotArea(svg, width, height, {
    left: names,
    right: figures,
    top: rules.length ? kSpanMargin.ruled : kSpanMargin.top,
    bottom: kSpanMargin.bottom
  });
  const x = d3.scaleLinear().domain(options.domain).range([0, area.width]);
  drawAxes(area, {scale: x, label: options.label});
  area.axes.selectAll(".tick").append("line").attr("class", "rule").attr("y2", -area.height);
  const hatch = hatchPattern(svg);
  const groups =
      area.top.selectAll("g.row")
          .data(rows)
          .enter()
          .append("g")
          .attr("class", (each, index) => index === options.strong ? "row strong" : "row")
          .attr("transform", (each, index) => `translate(0,${index * row.height})`);
  groups.append("rect")
      .attr("class", "behind")
      .attr("x", -names)
      .attr("width", width)
      .attr("height", row.height);
  groups.each(function(each) {
    const group = d3.select(this);
    for (const span of each.spans) drawSpan(group, span, x, row, options.parts || 1, hatch);
    const line = row.narrow ? 11 : row.above + row.bars / 2 + 4;
    const figure = group.append("text")
                       .attr("class", "figure-text")
                       .attr("x", area.width + figures - 2)
                       .attr("y", line)
                       .attr("text-anchor", "end")
                       .text(each.text);
    fitText(
        group.append("text")
            .attr("x", row.narrow ? 0 : -10)
            .attr("y", line)
            .attr("text-anchor", row.narrow ? "start" : "end"),
        each.name, row.narrow ? width - 30 - figure.node().getComputedTextLength() : names - 14);
  });
  showsTip(groups, (each) => each.tip || [{text: each.name, value: each.text}]);
  drawRules(area, rules, x, {from: -names, to: area.width + figures});
}

function drawSpan(group, span, x, row, parts, hatch) {
  const from = x(Math.min(span.from, span.to)), to = x(Math.max(span.from, span.to));
  const height = row.bars / parts, shape = {
    x: from,
    y: row.above + (span.part || 0) * height,
    width: Math.max(1, to - from),
    height: height - (parts > 1 ? 1 : 0)
  };
  const draw = (name) => group.append("rect")
                             .attr("class", name)
                             .attr("x", shape.x)
                             .attr("y", shape.y)
                             .attr("width", shape.width)
                             .attr("height", shape.height);
  draw(`bar ${span.mark}`);
  if (span.hatched) draw("hatched").style("fill", hatch);
}

// Lines across all rows with a text above; the texts stand in lines of their own, so that they
// never meet.
function drawRules(area, rules, x, room) {
  const placed = rules.slice()
                     .sort((a, b) => a.at - b.at)
                     .map((rule) => ({rule, at: x(rule.at), left: x(rule.at) > area.width / 2}));
  // A text that reaches over another's line stands higher than that line begins.
  if (placed.length && placed[0].left) placed.reverse();
  placed.forEach(({at}, index) => {
    area.top.append("line")
        .attr("class", "mark-rule")
        .attr("x1", at)
        .attr("x2", at)
        .attr("y1", index * 14 - 30)
        .attr("y2", area.height);
  });
  placed.forEach(({rule, at, left}, index) => {
    const text =
        area.top.append("text").attr("class", "soft halo").attr("y", index * 14 - 22).text(rule.text);
    const length = text.node().getComputedTextLength(), from = left ? at - 5 - length : at + 5;
    text.attr("x", Math.max(room.from + 2, Math.min(from, room.to - 2 - length)));
  });
}

// Stripes that are laid over a colour: what they mark is told apart without the colour.
function hatchPattern(svg) {
  const id = `hatch-${++definitionCount}`;
  svg.append("pattern")
      .attr("id", id)
      .attr("width", 5)
      .attr("height", 5)
      .attr("patternUnits", "userSpaceOnUse")
      .attr("patternTransform", "rotate(45)")
      .append("rect")
      .attr("class", "stripe")
      .attr("width", 2.2)
      .attr("height", 5);
  return `url(#${id})`;
}

function spansFigure(rows, options) {
  return chartFigure(Object.assign(
      {
        height: (width) => spansHeight(rows, options, width),
        draw: (svg, width, height) => drawSpans(svg, width, height, rows, options),
      },
      options));
}

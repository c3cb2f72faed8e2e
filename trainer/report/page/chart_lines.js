// Lines over a run's progress. All charts of a section share their view: the range shown, the
// cursor, how x is measured, smoothing, and the scale of y.

// chart: {title, names, lines}; view: of section_learning; options: {height, events: [...]}.
function lineChart(view, chart, options) {
  const unit = unitOfSeries(chart.title);
  const names = chart.names.length > 1 ?
      chart.names.map(
          (name, kind) => ({
            name,
            mark: view.runs.length > 1 ? `line ink d${kind % 3}` : `line c${kind} d${kind % 3}`
          })) :
      [];
  const figure = chartFigure({
    title: chart.title,
    height: options.height,
    legend: names,
    name: view.runs.length > 3 ? "lines many" : "lines",
    says: `Lines of ${chart.names.join(", ")} over the ${
        view.runs.length > 1 ? `progress of ${view.runs.length} runs` : "run's progress"}`,
    keys: (event) => zoomKeys(view, event),
    table: () => seriesSummary(view, chart),
    csv: () => seriesRows(view, chart),
    draw: (svg, width, height) =>
        drawLines(view, chart, Object.assign({unit, figure}, options), svg, width, height),
  });
  view.charts.push(figure.chart);
  return figure;
}

function drawLines(view, chart, options, svg, width, height) {
  const marks = list(options.events).length > 0;
  const margin = {left: kLeastLeft, right: 22, top: marks ? 40 : 24, bottom: 42};
  const inside = height - margin.top - margin.bottom;
  const x = d3.scaleLinear();
  const y = (view.log ? d3.scaleLog() : d3.scaleLinear()).range([inside, 0]);
  const shown = () => chart.lines.filter((line) => view.isShown(line.run));
  const setDomains = () => {
    x.domain(view.domain || view.full());
    y.domain(valueDomain(shown(), view, x.domain()));
    if (!view.log) y.nice();
  };
  setDomains();
  margin.left = leftMargin(svg, inside, valueAxis(y, options.unit));
  const area = plotArea(svg, width, height, margin);
  x.range([0, area.width]);
  const paths = area.marks.append("g"), lane = area.plot.append("g").attr("class", "events");
  const cursor = area.marks.append("g").attr("class", "cursor");
  let zoom = null;
  const update = () => {
    const lines = shown();
    setDomains();
    // Other ticks may need other room.
    if (zoom && leftMargin(svg, inside, valueAxis(y, options.unit)) !== margin.left)
      return redraw(options.figure.chart);
    drawAxes(
        area, {scale: x, label: view.label(), text: view.tick(), whole: view.mode !== "wall"},
        valueAxis(y, options.unit));
    drawPaths(paths, lines, view, x, y);
    drawEvents(lane, options.events, view, x, area);
    drawCursor(cursor, lines, view, x, y, area.height);
    if (zoom) zoom.follow();
  };
  update();
  zoom = zoomable(
      area, svg, Object.assign(Object.create(view), {
        hover: (value, event) => view.hover(value, event, options.figure.chart)
      }),
      x);
  const state = options.figure.chart;
  state.update = update;
  state.moveCursor = () => drawCursor(cursor, shown(), view, x, y, area.height);
  state.position = (value) => {
    const box = svg.node().getBoundingClientRect();
    return [box.left + margin.left + x(value), box.top + 40];
  };
  state.readout = (value) => cursorLines(shown(), view, value, options.events, x);
}

// Bytes are shown in a unit that suits them.
function valueAxis(y, label) {
  if (label !== "B") return {scale: y, label};
  const unit = byteUnit(y.domain()[1]);
  return {scale: scaledTo(y, unit), label: unit.name};
}

// The range of y that what can be seen needs.
function valueDomain(lines, view, domain) {
  let low = Infinity, high = -Infinity;
  for (const line of lines) {
    const points = linePoints(line, view.progress());
    const [from, to] = indicesIn(points.x, domain);
    for (const values of view.smoothing ? [points.y, view.smooth(line)] : [points.y]) {
      for (let i = from; i < to; ++i) {
        const value = values[i];
        if (!isNumber(value) || (view.log && value <= 0)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  if (low > high) return view.log ? [0.1, 1] : [0, 1];
  // What differs by rounding alone is level.
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high)))
    return view.log ? [low / 2, high * 2] :
                      [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  return view.log ? [low / 1.05, high * 1.05] : [low, high];
}

function drawPaths(paths, lines, view, x, y) {
  const drawn = (values) => (line) => {
    const points = linePoints(line, view.progress()), heights = values(line);
    const [from, to] = indicesIn(points.x, x.domain());
    return d3.line()
        .defined((i) => isNumber(heights[i]) && (!view.log || heights[i] > 0))
        .x((i) => Math.round(10 * x(points.x[i])) / 10)
        .y((i) => Math.round(10 * y(heights[i])) / 10)(d3.range(from, to));
  };
  const raw = paths.selectAll("path.raw").data(view.smoothing ? lines : []);
  raw.exit().remove();
  raw.enter()
      .append("path")
      .merge(raw)
      .attr("class", (line) => `raw ${line.mark}`)
      .attr("d", drawn((line) => linePoints(line, view.progress()).y));
  const main = paths.selectAll("path.main").data(lines);
  main.exit().remove();
  main.enter()
      .append("path")
      .merge(main)
      .attr("class", (line) => `main ${line.mark}`)
      .attr("d", drawn((line) => view.smooth(line)))
      .raise();
  const single = paths.selectAll("circle").data(lines.flatMap((line) => lonePoints(line, view)));
  single.exit().remove();
  single.enter()
      .append("circle")
      .attr("r", 3)
      .merge(single)
      .attr("class", (point) => `lone ${point.mark}`)
      .attr("cx", (point) => x(point.x))
      .attr("cy", (point) => y(point.y));
}

// Points without a neighbour make no line.
function lonePoints(line, view) {
  const x = linePoints(line, view.progress()).x, values = view.smooth(line);
  const isDrawn = (i) => isNumber(values[i]) && (!view.log || values[i] > 0);
  return d3.range(x.length)
      .filter((i) => isDrawn(i) && !isDrawn(i - 1) && !isDrawn(i + 1))
      .map((i) => ({mark: line.mark, x: x[i], y: values[i]}));
}

function drawCursor(group, lines, view, x, y, height) {
  const at = view.cursor, seen = isNumber(at) && at >= x.domain()[0] && at <= x.domain()[1];
  const rule = group.selectAll("line").data(seen ? [at] : []);
  rule.exit().remove();
  rule.enter().append("line").merge(rule).attr("x1", x).attr("x2", x).attr("y1", 0).attr(
      "y2", height);
  const found = seen ?
      lines
          .map((line) => {
            const points = linePoints(line, view.progress()), index = nearestIndex(points.x, at);
            return {mark: line.mark, x: points.x[index], y: view.smooth(line)[index]};
          })
          .filter((point) => isNumber(point.y) && (!view.log || point.y > 0)) :
      [];
  const dots = group.selectAll("circle").data(found);
  dots.exit().remove();
  dots.enter()
      .append("circle")
      .attr("r", 3.5)
      .merge(dots)
      .attr("class", (point) => point.mark)
      .attr("cx", (point) => x(point.x))
      .attr("cy", (point) => y(point.y));
}

// What the tip says at the cursor: the value of each line, and the events there.
function cursorLines(lines, view, at, events, x) {
  const near = list(events).filter((event) => Math.abs(x(event.at) - x(at)) < 4).slice(0, 4);
  return [
    {text: `${view.label()} ${view.exact(at, lines)}`}, ...lines.slice(0, 12).map((line) => {
      const points = linePoints(line, view.progress()), index = nearestIndex(points.x, at);
      const smooth = view.smooth(line)[index];
      return {
        text: line.label,
        mark: line.mark,
        value: plainNumber(view.smoothing ? smooth : points.y[index])
      };
    }),
    ...near.map((event) => ({text: `${event.kind}, step ${event.step}: ${plainText(event.text)}`}))
  ];
}

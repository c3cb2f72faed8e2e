// Foresight: what the model of costs predicts, beside what was measured, and for more devices.

function foresightSection(run) {
  const foresight = run.foresight || {}, parts = list(foresight.parts),
        scaling =
            list(foresight.scaling).filter((point) => point.devices > 0 && isNumber(point.step_ms));
  return [
    parts.length ? predictionFigure(parts) : null, scaling.length ? scalingFigure(scaling) : null,
    scaling.length ? titledTable(scalingTable(scaling)) : null
  ];
}

function predictionFigure(parts) {
  const off = (part) => part.measured_ms ? part.predicted_ms / part.measured_ms - 1 : null;
  const longest =
      d3.max(parts.flatMap((part) => [part.measured_ms, part.predicted_ms]).filter(isNumber)) || 1;
  const rows =
      parts.map((part) => ({
                  name: part.name,
                  text: signedPercent(off(part)),
                  spans: [
                    {from: 0, to: part.measured_ms || 0, mark: "c0", part: 0},
                    {from: 0, to: part.predicted_ms || 0, mark: "c3", hatched: true, part: 1}
                  ],
                  tip: [
                    {text: part.name},
                    {text: "measured", value: millisecondsText(part.measured_ms), mark: "c0"},
                    {text: "predicted", value: millisecondsText(part.predicted_ms), mark: "c3"}
                  ],
                }));
  return spansFigure(rows, {
    title: "Measured and predicted on this machine",
    domain: [0, longest],
    label: "ms",
    parts: 2,
    says: `Measured and predicted times of ${parts.length} parts of a step`,
    legend: [{name: "measured", mark: "c0"}, {name: "predicted", mark: "c3 striped"}],
    table: () => ({
      caption: "Measured and predicted on this machine",
      rows: parts,
      columns: [
        {name: "part", value: (part) => part.name},
        {name: "measured", kind: "ms", value: (part) => part.measured_ms},
        {name: "predicted", kind: "ms", value: (part) => part.predicted_ms},
        {name: "off", kind: "share", value: off}
      ]
    }),
  });
}

function scalingTable(scaling) {
  return {
    caption: "Predicted steps on more devices",
    rows: scaling,
    most: 60,
    columns: [
      {name: "device", value: (point) => point.device},
      {name: "devices", kind: "count", value: (point) => point.devices},
      {name: "nodes", kind: "count", value: (point) => point.nodes},
      {name: "global batch", kind: "count", value: (point) => point.global_batch},
      {name: "step", kind: "ms", value: (point) => point.step_ms},
      {name: "at least", kind: "ms", value: (point) => point.low_ms},
      {name: "at most", kind: "ms", value: (point) => point.high_ms},
      {name: "all-reduce", kind: "share", bar: true, value: (point) => point.all_reduce_share}
    ]
  };
}

function scalingFigure(scaling) {
  const lines =
      d3.nest()
          .key(
              (point) =>
                  `${plainText(point.device)}, global batch ${plainText(point.global_batch)}`)
          .entries(scaling);
  for (const line of lines) line.values.sort((a, b) => a.devices - b.devices);
  return chartFigure({
    title: "Predicted time of a step on more devices",
    height: (width) => Math.max(240, Math.min(340, width * 0.34)),
    says: `Lines of the predicted time of a step over the number of devices, with what it is at ` +
        `least and at most, for ${lines.length} combinations`,
    legend: lines.map(
        (line, index) => ({name: line.key, mark: `line c${index % kColours} d${index % 3}`})),
    table: () => scalingTable(scaling),
    draw: (svg, width, height) => drawScaling(svg, width, height, scaling, lines),
  });
}

function drawScaling(svg, width, height, scaling, lines) {
  const margin = {left: 50, right: 30, top: 26, bottom: 42};
  const inside = height - margin.top - margin.bottom;
  const highest = d3.max(scaling, (point) => Math.max(point.step_ms, point.high_ms || 0)) || 1;
  const y = d3.scaleLinear().domain([0, highest]).nice().range([inside, 0]);
  margin.left = leftMargin(svg, inside, {scale: y});
  const area = plotArea(svg, width, height, margin);
  const [fewest, most] = d3.extent(scaling, (point) => point.devices);
  const x = d3.scaleLog()
                .base(2)
                .domain(fewest === most ? [fewest / 2, most * 2] : [fewest, most])
                .range([0, area.width]);
  drawAxes(area, null, {scale: y, label: "ms"});
  let previous = -Infinity;
  const shown =
      [...new Set(scaling.map((point) => point.devices))].sort(d3.ascending).filter((count) => {
        const fits = x(count) - previous >= 36;
        if (fits) previous = x(count);
        return fits;
      });
  area.axes.append("g")
      .attr("class", "axis")
      .attr("transform", `translate(0,${area.height})`)
      .call(d3.axisBottom(x)
                .tickValues(shown)
                .tickFormat(d3.format(","))
                .tickSizeOuter(0)
                .tickPadding(5));
  area.axes.append("text")
      .attr("class", "unit")
      .attr("text-anchor", "end")
      .attr("x", area.width)
      .attr("y", area.height + 34)
      .text("devices");
  lines.forEach((line, index) => {
    const mark = `c${index % kColours}`,
          banded = line.values.filter((point) => isNumber(point.low_ms) && isNumber(point.high_ms));
    area.top.append("path")
        .attr("class", `band ${mark}`)
        .attr(
            "d",
            d3.area()
                .x((point) => x(point.devices))
                .y0((point) => y(point.low_ms))
                .y1((point) => y(point.high_ms))(banded));
    area.top.append("path")
        .attr("class", `line ${mark} d${index % 3}`)
        .attr(
            "d",
            d3.line().x((point) => x(point.devices)).y((point) => y(point.step_ms))(line.values));
    showsTip(
        area.top.append("g")
            .selectAll("circle")
            .data(line.values)
            .enter()
            .append("circle")
            .attr("class", `odd ${mark}`)
            .attr("r", 4)
            .attr("cx", (point) => x(point.devices))
            .attr("cy", (point) => y(point.step_ms)),
        (point) =>
            [{text: line.key}, {
              text: `${point.devices} devices, ${plainText(point.nodes)} nodes`,
              value: millisecondsText(point.step_ms)
            },
             {
               text: "at least, at most",
               value: `${millisecondsText(point.low_ms)}, ${millisecondsText(point.high_ms)}`
             },
             {text: "all-reduce", value: percentText(point.all_reduce_share)}]);
  });
}

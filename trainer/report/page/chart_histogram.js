// How the times of steps are spread.

function stepHistogram(spread, quantiles) {
  const counts = list(spread.counts), size = (spread.to_ms - spread.from_ms) / counts.length;
  const rows = counts.map(
      (count, i) =>
          ({from: spread.from_ms + i * size, to: spread.from_ms + (i + 1) * size, count}));
  if (spread.beyond) rows.push({from: spread.to_ms, to: null, count: spread.beyond});
  const median = list(quantiles).find((each) => each.name === "median");
  return chartFigure({
    title: "How long steps are",
    height: 210,
    says: `Histogram of ${total(counts) + (spread.beyond || 0)} steps by their time`,
    table: () => ({
      caption: "How long steps are",
      rows,
      columns: [
        {name: "from", kind: "ms", value: (row) => row.from},
        {name: "to", kind: "ms", value: (row) => row.to},
        {name: "steps", kind: "count", value: (row) => row.count}
      ]
    }),
    draw: (svg, width, height) => drawHistogram(svg, width, height, {spread, rows, size, median}),
  });
}

function drawHistogram(svg, width, height, {spread, rows, size, median}) {
  const beyond = spread.beyond ? 56 : 0;
  const margin = {left: 50, right: 22 + beyond, top: 26, bottom: 42};
  const inside = height - margin.top - margin.bottom;
  const y =
      d3.scaleLinear().domain([0, d3.max(rows, (row) => row.count) || 1]).nice().range([inside, 0]);
  const upward = {scale: y, label: "steps", whole: true};
  margin.left = leftMargin(svg, inside, upward);
  const area = plotArea(svg, width, height, margin);
  const x = d3.scaleLinear().domain([spread.from_ms, spread.to_ms]).range([0, area.width]);
  drawAxes(area, {scale: x, label: "ms"}, upward);
  const hatch = hatchPattern(svg);
  const place = (bars) =>
      bars.attr("x", (row) => row.to === null ? area.width + 28 : x(row.from) + 0.5)
          .attr("width", (row) => row.to === null ? 20 : Math.max(1, x(row.to) - x(row.from) - 1))
          .attr("y", (row) => y(row.count))
          .attr("height", (row) => area.height - y(row.count));
  const bars = place(area.top.selectAll("rect").data(rows).enter().append("rect"))
                   .attr("class", (row) => row.to === null ? "bar c1" : "bar c0");
  place(area.top.append("g")
            .selectAll("rect")
            .data(rows.filter((row) => row.to === null))
            .enter()
            .append("rect"))
      .attr("class", "hatched")
      .style("fill", hatch);
  showsTip(
      bars,
      (row) => [{
        text: row.to === null ? `longer than ${millisecondsText(row.from)}` :
                                `${millisecondsText(row.from)} to ${millisecondsText(row.to)}`,
        value: `${d3.format(",")(row.count)} steps`
      }]);
  if (beyond)
    area.top.append("text")
        .attr("class", "soft")
        .attr("x", area.width + 38)
        .attr("y", area.height + 16)
        .attr("text-anchor", "middle")
        .text("more");
  if (median && median.ms >= spread.from_ms && median.ms <= spread.to_ms) {
    area.top.append("line")
        .attr("class", "mark-rule")
        .attr("x1", x(median.ms))
        .attr("x2", x(median.ms))
        .attr("y1", -4)
        .attr("y2", area.height);
    area.top.append("text")
        .attr("class", "soft")
        .attr("x", area.width)
        .attr("y", -9)
        .attr("text-anchor", "end")
        .text(`dashed: median ${millisecondsText(median.ms)}`);
  }
}

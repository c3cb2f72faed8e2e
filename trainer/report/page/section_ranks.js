// Ranks: how far each rank is from the others, by class of work.

function ranksSection(run) {
  const ranks = run.ranks || {}, rows = list(ranks.ranks), late = ranks.late || {};
  const facts = [];
  if (isNumber(late.rank)) {
    facts.push(
        {name: "late rank", value: `${late.rank}${late.host ? ` on ${late.host}` : ""}`},
        {name: "it works", value: millisecondsText(late.work_ms)},
        {name: "the others work", value: millisecondsText(late.others_ms)},
        {name: `most in ${plainText(late.most)}`, value: `+ ${millisecondsText(late.most_ms)}`});
  }
  return [
    facts.length ? factList(facts) : null,
    list(ranks.classes).length && rankCount(ranks) > 1 ? heatFigure(ranks) : null,
    rows.length ? titledTable({
      caption: "Ranks",
      rows,
      most: 100,
      columns: [
        {name: "rank", kind: "count", value: (row) => row.rank},
        {name: "host", value: (row) => row.host},
        {name: "mean step", kind: "ms", value: (row) => row.mean_step_ms},
        {name: "work", kind: "ms", value: (row) => row.work_ms},
        {name: "wait for others", kind: "ms", value: (row) => row.wait_ms},
        {name: "input", kind: "ms", value: (row) => row.input_ms},
        {name: "host", kind: "ms", value: (row) => row.host_ms}, ...optionalColumns(rows)
      ]
    }) :
                  null,
  ];
}

// What not every run has.
function optionalColumns(rows) {
  const columns = [];
  if (rows.some((row) => isNumber(row.core_wait_ms)))
    columns.push({name: "no free core", kind: "ms", value: (row) => row.core_wait_ms});
  if (rows.some((row) => row.clock))
    columns.push(
        {name: "clock ahead of rank 0's", kind: "ms", value: (row) => (row.clock || {}).ahead_ms},
        {name: "\u00b1", kind: "ms", value: (row) => (row.clock || {}).uncertainty_ms});
  return columns;
}

// One rank has no others to be compared with.
function rankCount(ranks) { return d3.max(list(ranks.ms), (row) => list(row).length) || 0; }

function heatFigure(ranks) {
  const classes = list(ranks.classes), cells = [];
  const count = rankCount(ranks);
  const names = d3.range(count).map((i) => (list(ranks.ranks)[i] || {rank: i}).rank);
  classes.forEach((name, row) => {
    const times = list(ranks.ms[row]), mean = d3.mean(times.filter(isNumber));
    times.forEach((ms, column) => {
      if (isNumber(ms))
        cells.push(
            {row, column, name, rank: names[column], ms, mean, off: mean ? ms / mean - 1 : 0});
    });
  });
  const rowHeight = 22;
  return chartFigure({
    title: "Deviation of each rank from the mean of its row",
    name: "heat",
    says: `Heat map of ${classes.length} classes of work by ${
        count} ranks: how much longer or shorter than the mean of all ranks`,
    height: classes.length * rowHeight + 46,
    legend: [{name: "longer than the mean", mark: "c1"}, {name: "shorter", mark: "c0"}],
    table: () => ({
      caption: "Time of each class on each rank",
      rows: cells,
      columns: [
        {name: "class", value: (cell) => cell.name},
        {name: "rank", kind: "count", value: (cell) => cell.rank},
        {name: "time", kind: "ms", value: (cell) => cell.ms},
        {name: "off the mean", kind: "share", value: (cell) => cell.off}
      ]
    }),
    draw: (svg, width) => drawHeat(svg, width, {classes, cells, count, names, rowHeight}),
  });
}

function drawHeat(svg, width, heat) {
  const left = Math.min(220, Math.round(width * 0.32)), room = width - left - 4;
  const x = d3.scaleBand()
                .domain(d3.range(heat.count))
                .range([0, room])
                .paddingInner(heat.count > 40 ? 0 : 0.04);
  const most = Math.max(0.02, d3.max(heat.cells, (cell) => Math.abs(cell.off)) || 0);
  const plot = svg.append("g").attr("transform", `translate(${left},4)`);
  const row = heat.rowHeight;
  heat.classes.forEach((name, index) => {
    fitText(
        plot.append("text")
            .attr("x", -8)
            .attr("y", index * row + row / 2)
            .attr("dy", "0.35em")
            .attr("text-anchor", "end"),
        name, left - 12);
  });
  const cells = plot.selectAll("g")
                    .data(heat.cells)
                    .enter()
                    .append("g")
                    .attr("transform", (cell) => `translate(${x(cell.column)},${cell.row * row})`);
  cells.append("rect").attr("class", "under").attr("width", x.bandwidth()).attr("height", row - 2);
  cells.append("rect")
      .attr("class", (cell) => cell.off > 0 ? "c1" : "c0")
      .attr("width", x.bandwidth())
      .attr("height", row - 2)
      .style("fill-opacity", (cell) => 0.6 * Math.abs(cell.off) / most);
  if (x.bandwidth() > 54) {
    cells.append("text")
        .attr("x", x.bandwidth() / 2)
        .attr("y", row / 2 - 1)
        .attr("dy", "0.35em")
        .attr("text-anchor", "middle")
        .text((cell) => signedPercent(cell.off));
  }
  const every = Math.max(1, Math.ceil(30 / x.step()));
  heat.names.forEach((name, index) => {
    if (index % every) return;
    plot.append("text")
        .attr("class", "soft")
        .attr("x", x(index) + x.bandwidth() / 2)
        .attr("y", heat.classes.length * row + 14)
        .attr("text-anchor", "middle")
        .text(name);
  });
  plot.append("text")
      .attr("class", "soft")
      .attr("x", room)
      .attr("y", heat.classes.length * row + 32)
      .attr("text-anchor", "end")
      .text("rank");
  showsTip(
      cells,
      (cell) =>
          [{text: `${plainText(cell.name)}, rank ${cell.rank}`, value: millisecondsText(cell.ms)},
           {text: "mean of all ranks", value: millisecondsText(cell.mean)},
           {text: "off the mean", value: signedPercent(cell.off)}]);
}

// The figures of the lines of a chart: in short as a table, all of them as CSV.

function seriesSummary(view, chart) {
  const rows = chart.lines.map((line) => {
    const pairs = list(line.series.value)
                      .map((value, i) => ({value, step: line.series.step[i]}))
                      .filter((pair) => isNumber(pair.value));
    const least = d3.scan(pairs, (a, b) => a.value - b.value),
          most = d3.scan(pairs, (a, b) => b.value - a.value);
    const at = (index) => pairs[index] || {};
    return {
      line,
      points: list(line.series.value).length,
      first: at(0),
      last: at(pairs.length - 1),
      least: at(least),
      most: at(most)
    };
  });
  const run =
      view.runs.length > 1 ? [{name: "run", value: (row) => runName(view.runs, row.line.run)}] : [];
  const unit = unitOfSeries(chart.title);
  return {
    caption: `${chart.title}: first, last, least and largest values`,
    rows,
    columns: [
      ...run, {name: "series", value: (row) => row.line.name},
      {name: "points", kind: "count", value: (row) => row.points},
      {name: "first", kind: "number", unit, value: (row) => row.first.value},
      {name: "last", kind: "number", unit, value: (row) => row.last.value},
      {name: "least", kind: "number", unit, value: (row) => row.least.value},
      {name: "at step", kind: "count", value: (row) => row.least.step},
      {name: "largest", kind: "number", unit, value: (row) => row.most.value},
      {name: "at step", kind: "count", value: (row) => row.most.step}
    ]
  };
}

function seriesRows(view, chart) {
  const rows = [];
  for (const line of chart.lines) {
    list(line.series.step).forEach((step, i) => rows.push([
      runName(view.runs, line.run), line.name, step, line.series.value[i]
    ]));
  }
  return {
    caption: chart.title,
    rows,
    columns: ["run", "series", "step", "value"].map((name, i) => ({name, value: (row) => row[i]}))
  };
}

// The frame of every chart: its title, a CSV button, a legend, the drawing, and a table of the same
// figures that a screen reader reaches. Charts are drawn when they come near the window, drawn
// again when their width changes, and all drawn before printing.

const charts = new Map();  // box of the drawing -> chart
const kNearWindow = "600px";

const nearWindow = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const chart = charts.get(entry.target);
    if (!chart) continue;
    chart.near = entry.isIntersecting;
    if (chart.near && chart.stale) drawChart(chart);
  }
}, {rootMargin: kNearWindow});

const widths = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const chart = charts.get(entry.target);
    if (chart && Math.abs(chart.width - entry.target.clientWidth) >= 1) redraw(chart);
  }
});

// options: {title, says (what it shows, in words), height (a number, or a function of the width),
// draw(svg, width, height), table(): as of dataTable, csv(): the same with more rows, legend:
// [{name, mark}], tools: [elements], group: whether a screen reader reads the texts in the drawing,
// name: a class}.
function chartFigure(options) {
  const svg = d3.create("svg")
                  .attr("role", options.group ? "group" : "img")
                  .attr("aria-label", options.says);
  if (options.keys)
    svg.attr("tabindex", 0)
        .attr("aria-roledescription", "chart")
        .on("keydown", () => options.keys(d3.event));
  const box = element("div", {class: "drawing"}, svg.node());
  const table = options.table;
  const rows = element("details", {class: "data"}, element("summary", {}, "Table"));
  rows.addEventListener("toggle", () => {
    if (rows.open && rows.children.length === 1)
      rows.append(dataTable(Object.assign({most: 100}, table())));
  });
  const figure = element(
      "figure", {class: `figure chart ${options.name || ""}`, "aria-label": options.title},
      element(
          "header", {}, element("h3", {}, prose(options.title)),
          element(
              "span", {class: "tools"}, options.tools || [],
              csvButton(options.title, options.csv || table))),
      options.legend && options.legend.length ? legendList(options.legend) : null, box,
      options.below || null, rows);
  const chart = {options, svg, box, width: 0, near: false, stale: true, figure};
  charts.set(box, chart);
  nearWindow.observe(box);
  widths.observe(box);
  figure.chart = chart;
  return figure;
}

function legendList(entries) {
  return element(
      "ul", {class: "legend"},
      entries.map(
          (entry) => element(
              "li", {}, element("i", {class: `mark ${entry.mark}`, "aria-hidden": true}),
              clipped(entry.name))));
}

function drawChart(chart) {
  const width = chart.box.clientWidth;
  if (!width) return;
  const options = chart.options;
  const height =
      Math.round(typeof options.height === "function" ? options.height(width) : options.height);
  chart.width = width;
  chart.stale = false;
  chart.svg.attr("viewBox", `0 0 ${width} ${height}`)
      .attr("width", width)
      .attr("height", height)
      .selectAll("*")
      .remove();
  options.draw(chart.svg, width, height);
}

// Draws again, now if it can be seen.
function redraw(chart) {
  chart.stale = true;
  if (chart.near) drawChart(chart);
}

function drawAllCharts() {
  for (const chart of charts.values()) {
    if (chart.stale) drawChart(chart);
  }
}

// Charts in an element that leaves the page.
function releaseCharts(root) {
  for (const box of [...charts.keys()]) {
    if (!root.contains(box)) continue;
    nearWindow.unobserve(box);
    widths.unobserve(box);
    charts.delete(box);
  }
}

// A tree of the step's programs, modules, kernels and ops as an icicle: a child lies below its
// parent, as wide as its time. Click or Enter zooms into a node; arrows walk the tree; Backspace or
// Escape goes back to its parent.

const kNodeMarks = {
  "program": "c5",
  "module": "c0",
  "kernel": "c3",
  "op": "c2"
};
const kIcicleRow = 24;

// Ops of a kernel have no time of their own: they share its room evenly.
function timedHierarchy(root) {
  const tree = d3.hierarchy(root, (node) => list(node.children));
  tree.eachBefore((node) => {
    const own = node.data.ms, parent = node.parent;
    node.timed = isNumber(own) && own >= 0;
    node.value = node.timed ? own : parent ? parent.value / parent.children.length : 0;
  });
  // Rounding may give children more than their parent.
  tree.eachBefore((node) => {
    const sum = node.children ? d3.sum(node.children, (child) => child.value) : 0;
    if (sum > node.value && sum > 0)
      for (const child of node.children) child.value *= node.value / sum;
  });
  return d3.partition()(tree);
}

function icicleFigure(root) {
  const tree = timedHierarchy(root), levels = tree.height + 1;
  const kinds = Object.keys(kNodeMarks).map((name) => ({name, mark: kNodeMarks[name]}));
  const state = {focus: tree, active: tree, by: "kind", found: new Set(), searched: false};
  const path = element("p", {class: "path", "aria-live": "polite"});
  const search = element(
      "input", {type: "search", placeholder: "search", "aria-label": "search in the graph"});
  const count = element("span", {class: "quiet"});
  search.addEventListener("input", () => {
    const word = search.value.trim().toLowerCase();
    state.searched = word !== "";
    state.found = new Set(
        state.searched ?
            tree.descendants().filter((node) => nodeText(node).toLowerCase().includes(word)) :
            []);
    count.textContent = state.searched ? `${state.found.size} found` : "";
    redraw(figure.chart);
  });
  const zoomTo = (node) => {
    state.focus = node;
    state.active = node;
    drawChart(figure.chart);
    tell(node);
  };
  const tell = (node) => path.replaceChildren(
      ...node.ancestors().reverse().flatMap(
          (each, i) => [i ? " › " : "", prose(asText(each.data.name).slice(0, 80))]),
      `: ${nodeTime(node)} `, prose(node.data.detail), " ",
      node.data.line ? element("code", {}, prose(node.data.line)) : "");
  const figure = chartFigure({
    title: "The step as a tree",
    name: "icicle",
    group: true,
    height: levels * kIcicleRow + 4,
    says: `Icicle of ${tree.descendants().length} parts of the step by their time; ` +
        "arrows walk, Enter zooms in, Backspace zooms out",
    legend: kinds,
    below: path,
    keys: (event) => icicleKeys(state, zoomTo, tell, event, figure),
    table: () => ({
      caption: "The step as a tree",
      rows: tree.descendants(),
      columns: [
        {
          name: "part",
          wide: true,
          value: (node) =>
              node.ancestors().reverse().map((each) => asText(each.data.name)).join(" › ")
        },
        {name: "kind", value: (node) => node.data.kind},
        {name: "time", kind: "ms", value: (node) => node.data.ms},
        {name: "line", value: (node) => node.data.line},
        {name: "detail", wide: true, value: (node) => node.data.detail}
      ]
    }),
    draw: (svg, width) => drawIcicle(svg, width, state, zoomTo, tell),
  });
  const controls = element(
      "div", {class: "controls"},
      element(
          "div", {class: "control"}, element("span", {}, "colour by"),
          choice(
              "colour by", [{value: "kind", label: "kind"}, {value: "time", label: "time"}], "kind",
              (by) => {
                state.by = by;
                figure.querySelector(".legend").replaceWith(legendList(by === "kind" ? kinds : [
                  {name: "the more colour, the more of its row's time", mark: "c1"}
                ]));
                redraw(figure.chart);
              })),
      search, count, button("whole step", {class: "toggle"}, () => zoomTo(tree)),
      element(
          "p", {class: "hint"},
          "Click or Enter zooms in; click the top row or Backspace zooms out."));
  figure.querySelector("header").after(controls);
  tell(tree);
  return figure;
}

function nodeText(node) {
  return [node.data.name, node.data.line, node.data.detail].map(asText).join(" ");
}

function nodeTime(node) {
  return node.timed ? millisecondsText(node.data.ms) : "part of its kernel";
}

function drawIcicle(svg, width, state, zoomTo, tell) {
  svg.selectAll("*").remove();
  const focus = state.focus, x = d3.scaleLinear().domain([focus.x0, focus.x1]).range([0, width]);
  const depth = focus.ancestors().length - 1, y = (node) => (node.depth) * kIcicleRow;
  const longest =
      d3.range(state.focus.height + depth + 1)
          .map(
              (level) =>
                  d3.max(focus.descendants(), (node) => node.depth === level ? node.value : 0) ||
                  focus.value || 1);
  const seen = [...focus.ancestors().reverse().slice(0, depth), ...focus.descendants()].filter(
      (node) => x(node.x1) - x(node.x0) > 0.6);
  const nodes =
      svg.selectAll("g")
          .data(seen)
          .enter()
          .append("g")
          .attr(
              "class",
              (node) => `node ${
                            Object.prototype.hasOwnProperty.call(kNodeMarks, node.data.kind) ?
                                kNodeMarks[node.data.kind] :
                                "c5"}` +
                  `${state.searched ? state.found.has(node) ? " found" : " dim" : ""}${
                            node === state.active ? " active" : ""}`)
          .attr("transform", (node) => `translate(${Math.max(0, x(node.x0))},${y(node) + 2})`);
  const room = (node) => Math.max(0.6, Math.min(width, x(node.x1)) - Math.max(0, x(node.x0)));
  nodes.append("rect").attr("class", "under").attr("width", room).attr("height", kIcicleRow - 1);
  nodes.append("rect")
      .attr("class", state.by === "time" ? "tint heat" : "tint")
      .attr("width", (node) => Math.max(0.5, room(node) - 1))
      .attr("height", kIcicleRow - 2)
      .style(
          "fill-opacity",
          (node) => state.by === "time" ?
              0.08 + 0.6 * Math.min(1, node.value / longest[node.depth]) :
              null);
  nodes.filter((node) => room(node) > 26).each(function(node) {
    const text =
        d3.select(this).append("text").attr("x", 5).attr("y", kIcicleRow / 2).attr("dy", "0.3em");
    fitText(text, node.data.name, room(node) - 9);
  });
  showsTip(
      nodes,
      (node) =>
          [{text: node.data.name, value: nodeTime(node)},
           {text: `${plainText(node.data.kind)} ${plainText(node.data.line)}`},
           ...(node.data.detail ? [{text: node.data.detail}] : []), {
             text: "of what is shown",
             value: percentText(focus.value ? Math.min(1, node.value / focus.value) : null)
           }]);
  nodes
      .on("click",
          (node) => {
            zoomTo(node === focus && node.parent ? node.parent : node);
          })
      .on("mouseenter.path", tell);
}

// Walks from the active node; what is walked to but hidden is zoomed to.
function icicleKeys(state, zoomTo, tell, event, figure) {
  const node = state.active, beside = node.parent ? node.parent.children : [node],
        at = beside.indexOf(node);
  const targets = {
    ArrowDown: node.children && node.children[0],
    ArrowUp: node.parent,
    ArrowLeft: beside[at - 1],
    ArrowRight: beside[at + 1]
  };
  if (event.key === "Enter" || event.key === " ") zoomTo(node);
  else if (event.key === "Backspace" || event.key === "Escape")
    zoomTo(state.focus.parent || state.focus);
  else if (event.key in targets) {
    const target = targets[event.key];
    if (target) {
      if (!target.ancestors().includes(state.focus)) state.focus = target;
      state.active = target;
      drawChart(figure.chart);
      tell(target);
    }
  } else
    return;
  event.preventDefault();
}

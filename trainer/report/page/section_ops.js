// Ops: what takes the time, grouped in four ways, and how near it comes to what the machine can do.

const kOpGroups = [
  {value: "class", label: "class"}, {value: "op", label: "op"}, {value: "module", label: "module"},
  {value: "line", label: "line"}
];

// What matters most stands first: a wide table is cut at the right.
const kOpColumns = [
  {name: "program", value: (row) => row.program},
  {name: "work", value: (row) => row.work},
  {name: "time", kind: "ms", value: (row) => row.ms},
  {name: "of the step", kind: "share", bar: true, value: (row) => row.share},
  {name: "of the limit", kind: "share", bar: true, value: (row) => row.of_limit},
  {name: "simulated", kind: "ms", value: (row) => row.sim_ms},
  {name: "of its limit", kind: "share", value: (row) => row.sim_of_limit},
  {name: "least", kind: "ms", value: (row) => row.least_ms},
  {name: "between ranks", kind: "share", value: (row) => row.skew},
  {name: "op", wide: true, code: true, value: (row) => row.op},
  {name: "module", code: true, value: (row) => row.module},
  {name: "line", code: true, value: (row) => row.line},
  {name: "calls", kind: "count", value: (row) => row.count},
  {name: "places", kind: "count", value: (row) => row.places},
  {name: "work per step", kind: "flops", value: (row) => row.flops},
  {name: "moved", kind: "bytes", value: (row) => row.bytes},
];

function opsSection(run) {
  const ops = run.ops || {}, by = ops.by || {}, roofline = ops.roofline || {};
  const facts = [];
  if (isNumber(ops.mean_step_ms))
    facts.push({name: "mean step", value: millisecondsText(ops.mean_step_ms)});
  if (isNumber(ops.fused_share))
    facts.push({name: "in fused kernels", value: percentText(ops.fused_share)});
  if (isNumber(ops.ranks)) facts.push({name: "ranks measured", value: d3.format(",")(ops.ranks)});
  return [
    facts.length ? factList(facts) : null,
    kOpGroups.some((group) => list(by[group.value]).length) ? opsTable(ops, by) : null,
    list(roofline.points).length ? rooflineFigure(roofline) : null,
  ];
}

function opsTable(ops, by) {
  const groups = kOpGroups.filter((group) => list(by[group.value]).length), place = element("div");
  const search = element(
      "input", {type: "search", placeholder: "search", "aria-label": "search in the table of ops"});
  const state = {group: groups[0].value, table: null};
  const current = () => {
    const rows = list(by[state.group]);
    const present = kOpColumns.filter(
        (column) => rows.some((row) => ![undefined, null, ""].includes(column.value(row))));
    const time = present.findIndex((column) => column.name === "time");
    return {
      caption: `Time by ${state.group}`,
      rows,
      columns: present,
      most: 60,
      sort: time < 0 ? null : {column: time, descending: true}
    };
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
    state.table.filterRows((row) => {
      const text =
          [row.program, row.work, row.op, row.module, row.line].map(asText).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };
  const fill = () => {
    const left = (ops.left_out || {})[state.group];
    state.table = dataTable(current());
    place.replaceChildren(state.table);
    if (left && left.rows) {
      place.append(element(
          "p", {class: "left-out"},
          `${d3.format(",")(left.rows)} shorter rows are left out; together they take ${
              millisecondsText(left.ms)}.`));
    }
    filter();
  };
  search.addEventListener("input", filter);
  fill();
  return element(
      "section", {class: "figure ops"},
      element(
          "header", {}, element("h3", {}, "What takes the time"),
          element("span", {class: "tools"}, csvButton("time by group", current))),
      element(
          "div", {class: "controls"},
          element(
              "div", {class: "control"}, element("span", {}, "by"),
              choice(
                  "grouped by", groups, state.group,
                  (group) => {
                    state.group = group;
                    fill();
                  })),
          search),
      place);
}

// Tables of the data, and the same rows as CSV.
//
// A column is {name, kind (of kColumnKinds), value(row), wide, code, bar}: `wide` gives a text more
// room, `code` is for names of code, `bar` draws a share behind its figure. A table is {caption,
// columns, rows, sort: {column, descending}, most}: with `most`, only so many rows are shown, and a
// line says how many are left out.

function columnName(column) {
  const unit = column.unit || kColumnKinds[column.kind || "text"].unit;
  return unit ? `${column.name}, ${unit}` : column.name;
}

// A box ends where a row does.
const kTableHeight = 560;

const tableSizes = new ResizeObserver((entries) => {
  for (const {target} of entries) {
    const rows = target.rows, box = target.parentElement;
    if (!box || !target.offsetHeight) continue;
    const end = (row) => row.offsetTop + row.offsetHeight;
    let last = rows.length - 1;
    if (target.offsetHeight > kTableHeight) {
      last = 0;
      while (last + 1 < rows.length && end(rows[last + 1]) <= kTableHeight) ++last;
    }
    // A row that is higher than the box is cut.
    const bar = box.offsetHeight - box.clientHeight;
    box.style.setProperty(
        "--most", last > 0 && last < rows.length - 1 ? `${end(rows[last]) + bar}px` : null);
  }
});

function dataTable(table) {
  const state = {sort: table.sort || null, matches: () => true, most: table.most || Infinity};
  const columns = table.columns.map((column) => {
    const kind = kColumnKinds[column.kind || "text"];
    const decimals = kind.digits ? decimalsFor(table.rows.map(column.value)) : 0;
    return Object.assign({}, column, {shape: kind, decimals});
  });
  const body = element("tbody");
  const more = element("p", {class: "left-out"});
  const heads = columns.map((column, index) => tableHead(column, () => {
                              const descending = state.sort && state.sort.column === index ?
                                  !state.sort.descending :
                                  Boolean(column.shape.digits);
                              state.sort = {column: index, descending};
                              fill();
                            }));
  function fill() {
    const rows = sortedRows(table.rows.filter(state.matches), columns, state.sort);
    const shown = rows.slice(0, state.most);
    body.replaceChildren(...shown.map((row) => tableRow(row, columns)));
    heads.forEach((head, index) => {
      const chosen = state.sort && state.sort.column === index;
      head.setAttribute(
          "aria-sort", chosen ? (state.sort.descending ? "descending" : "ascending") : "none");
    });
    const words = rows.length > shown.length ?
        [
          `${d3.format(",")(rows.length - shown.length)} more rows. `,
          button(
              "show all", {class: "quiet"},
              () => {
                state.most = Infinity;
                fill();
              })
        ] :
        rows.length ? [] :
                      ["No row matches."];
    more.replaceChildren(...words);
    more.hidden = !words.length;
  }
  fill();
  const box = element(
      "div", {class: "table-box", tabindex: 0, role: "region", "aria-label": table.caption},
      element(
          "table", {}, element("caption", {}, prose(table.caption)),
          element("thead", {}, element("tr", {}, heads)), body));
  tableSizes.observe(box.firstChild);
  const whole = element("div", {class: "table"}, box, more);
  whole.filterRows = (matches) => {
    state.matches = matches;
    fill();
  };
  return whole;
}

function tableHead(column, sort) {
  return element(
      "th", {scope: "col", class: column.shape.digits ? "digits" : null, "aria-sort": "none"},
      button(columnName(column), {}, sort));
}

function tableRow(row, columns) {
  return element("tr", {}, columns.map((column) => {
    const value = column.value(row);
    if (!column.shape.digits) {
      return element(
          "td", {},
          clipped(
              column.shape.text(value),
              `${column.wide ? "wide" : ""} ${column.code ? "code" : ""}`.trim()));
    }
    const cell = element(
        "td", {class: column.bar ? "digits bar" : "digits"},
        column.shape.text(value, column.decimals));
    if (column.bar && isNumber(value))
      cell.style.setProperty("--share", `${Math.max(0, Math.min(100, 100 * value))}%`);
    return cell;
  }));
}

// What is absent comes last in both directions.
function sortedRows(rows, columns, sort) {
  if (!sort) return rows;
  const column = columns[sort.column], sign = sort.descending ? -1 : 1;
  const absent = (value) => value === null || value === undefined || value === "";
  return rows.map((row) => ({row, key: column.value(row)}))
      .sort((a, b) => {
        if (absent(a.key) || absent(b.key)) return absent(a.key) - absent(b.key);
        return sign *
            (column.shape.digits ?
                 a.key - b.key :
                 asText(a.key).localeCompare(asText(b.key), "en", {numeric: true}));
      })
      .map((pair) => pair.row);
}

function csvText(table) {
  const quoted = (value) => {
    const text = asText(value);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, "\"\"")}"` : text;
  };
  const lines = [table.columns.map((column) => quoted(columnName(column))).join(",")];
  for (const row of table.rows)
    lines.push(table.columns.map((column) => quoted(column.value(row))).join(","));
  return lines.join("\n") + "\n";
}

// table: a function, called when it is pressed; CSV of all series is long.
function csvButton(title, table) {
  return button(
      "CSV", {class: "quiet csv", "aria-label": `copy as CSV: ${asText(title).slice(0, 80)}`},
      () => {
        const made = table();
        copyText(csvText(made), `${d3.format(",")(made.rows.length)} rows as CSV`);
      });
}

// A table with its name and its CSV button above it.
function titledTable(table) {
  return element(
      "section", {class: "figure"},
      element(
          "header", {}, element("h3", {}, table.caption),
          element("span", {class: "tools"}, csvButton(table.caption, () => table))),
      dataTable(table));
}

// Memory: what fills it, when, and which values are the largest.

function memorySection(run) {
  const memory = run.memory || {},
        parts = list(memory.parts).filter((part) => isNumber(part.bytes));
  const facts = [];
  if (isNumber(memory.peak_bytes)) facts.push({name: "peak", value: bytesText(memory.peak_bytes)});
  if (isNumber(memory.limit_bytes) && memory.limit_bytes > 0) {
    facts.push({name: "limit", value: bytesText(memory.limit_bytes)});
    if (isNumber(memory.peak_bytes))
      facts.push(
          {name: "of the limit", value: percentText(memory.peak_bytes / memory.limit_bytes)});
  }
  const remedies = list(memory.remedies);
  return [
    facts.length ? factList(facts) : null,
    parts.length ? partsFigure(parts) : null,
    remedies.length ? element("h3", {class: "group"}, "What would take less") : null,
    remedies.length ?
        element("ul", {class: "looks"}, remedies.map((text) => element("li", {}, prose(text)))) :
        null,
    list(memory.programs).length ? programViews(list(memory.programs)) : null,
  ];
}

function partsFigure(parts) {
  const sum = total(parts.map((part) => part.bytes)), unit = byteUnit(sum);
  const mark = (index) => `c${index % kColours}`;
  return chartFigure({
    title: "What fills memory",
    name: "parts",
    height: 78,
    says: `Stacked bar of ${parts.length} kinds of memory, ${bytesText(sum)} together`,
    legend: parts.map(
        (part, index) =>
            ({name: `${plainText(part.name)} ${bytesText(part.bytes)}`, mark: mark(index)})),
    table: () => ({
      caption: "What fills memory",
      rows: parts,
      columns: [
        {name: "part", value: (part) => part.name},
        {name: "size", kind: "bytes", value: (part) => part.bytes},
        {name: "share", kind: "share", bar: true, value: (part) => sum ? part.bytes / sum : null}
      ]
    }),
    draw(svg, width, height) {
      const area = plotArea(svg, width, height, {left: 14, right: 26, top: 4, bottom: 40});
      const x = d3.scaleLinear().domain([0, sum || 1]).range([0, area.width]);
      drawAxes(area, {scale: scaledTo(x, unit), label: unit.name});
      let at = 0;
      parts.forEach((part, index) => {
        const group = area.top.append("g").attr("transform", `translate(${x(at)},0)`),
              room = x(part.bytes);
        group.append("rect")
            .attr("class", `part ${mark(index)}`)
            .attr("width", Math.max(0.5, room - 1))
            .attr("height", area.height);
        showsTip(group, () => [{text: part.name, value: bytesText(part.bytes), mark: mark(index)}, {
                          text: "share",
                          value: percentText(sum ? part.bytes / sum : null)
                        }]);
        at += part.bytes;
      });
    },
  });
}

function programViews(programs) {
  const place = element("div");
  const fill = (index) => {
    const program = programs[index], values = list(program.values);
    releaseCharts(place);
    place.replaceChildren(
        ...[list(program.live_bytes).length ? liveBytesFigure(program) : null,
            values.length ? lifetimesFigure(program, values.slice(0, 16)) : null,
            values.length ? titledTable({
              caption: `Largest values of the ${plainText(program.name)} program`,
              rows: values,
              most: 20,
              columns: [
                {name: "value", wide: true, code: true, value: (value) => value.name},
                {name: "module", code: true, value: (value) => value.module},
                {name: "line", code: true, value: (value) => value.line},
                {name: "size", kind: "bytes", value: (value) => value.bytes},
                {name: "from command", kind: "count", value: (value) => value.first},
                {name: "to command", kind: "count", value: (value) => value.last}
              ]
            }) :
                            null,
    ].filter((node) => node));
  };
  fill(0);
  return element(
      "div", {},
      programs.length > 1 ?
          element(
              "div", {class: "controls spaced"},
              element(
                  "div", {class: "control"}, element("span", {}, "program"),
                  choice(
                      "program",
                      programs.map(
                          (program, value) =>
                              ({value, label: element("bdi", {}, plainText(program.name))})),
                      0, fill))) :
          null,
      place);
}

function lifetimesFigure(program, values) {
  const last =
      Math.max(list(program.live_bytes).length, ...values.map((value) => (value.last || 0) + 1));
  return spansFigure(
      values.map((value) => ({
                   name: [value.name, value.module].map(plainText).filter((text) => text).join(" "),
                   text: bytesText(value.bytes),
                   spans: isNumber(value.first) && isNumber(value.last) ?
                       [{from: value.first, to: value.last + 1, mark: "c0"}] :
                       [],
                   tip: [
                     {text: value.name, value: bytesText(value.bytes)},
                     {text: [value.module, value.line].map(plainText).join(" ")},
                     {text: `commands ${value.first} to ${value.last}`}
                   ]
                 })),
      {
        title: "How long the largest values live",
        domain: [0, last],
        label: "command",
        says: `Lifetimes of the ${values.length} largest values over ${last} commands`,
        table: () => ({
          caption: "Lifetimes",
          rows: values,
          columns: [
            {name: "value", value: (value) => value.name},
            {name: "size", kind: "bytes", value: (value) => value.bytes},
            {name: "from command", kind: "count", value: (value) => value.first},
            {name: "to command", kind: "count", value: (value) => value.last}
          ]
        }),
      });
}

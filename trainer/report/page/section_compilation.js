// Compilation: why programs were compiled, what it cost, and what would avoid it.

function compilationSection(run) {
  const compilation = run.compilation || {}, causes = list(compilation.causes),
        passes = list(compilation.passes);
  const facts = [];
  if (isNumber(compilation.compiled))
    facts.push({name: "compiled", value: d3.format(",")(compilation.compiled)});
  if (isNumber(compilation.loaded))
    facts.push({name: "loaded from the cache", value: d3.format(",")(compilation.loaded)});
  if (isNumber(compilation.seconds))
    facts.push({name: "time", value: secondsText(compilation.seconds)});
  return [
    facts.length ? factList(facts) : null,
    causes.length ? causeTree(causes) : null,
    list(compilation.events).length ? titledTable({
      caption: "Programs compiled and loaded",
      rows: compilation.events,
      most: 30,
      columns: [
        {name: "step", kind: "count", value: (event) => event.step},
        {name: "event", value: (event) => event.event},
        {name: "time", kind: "seconds", value: (event) => event.seconds},
        {name: "cause", value: (event) => event.cause},
        {name: "what", wide: true, value: (event) => event.text}
      ]
    }) :
                                      null,
    passes.length ? passesFigure(passes) : null,
    list(compilation.reads).length ? titledTable({
      caption: "Values that the program read",
      rows: compilation.reads,
      most: 30,
      columns: [
        {name: "line", code: true, value: (read) => read.line},
        {name: "what", wide: true, value: (read) => read.what},
        {name: "within a step", value: (read) => read.in_step ? "yes" : "no"},
        {name: "reads", kind: "count", value: (read) => read.count},
        {name: "waited", kind: "ms", value: (read) => read.waited_ms},
        {name: "device idle", kind: "ms", value: (read) => read.idle_ms}
      ]
    }) :
                                     null,
  ];
}

function causeTree(causes) {
  const costly = causes.slice().sort((a, b) => (b.seconds || 0) - (a.seconds || 0));
  const item = (cause) => {
    const costs = [
      isNumber(cause.compiled) ? `${d3.format(",")(cause.compiled)} compiled` : null,
      isNumber(cause.loaded) ? `${d3.format(",")(cause.loaded)} loaded` : null,
      isNumber(cause.seconds) ? secondsText(cause.seconds) : null
    ].filter((text) => text);
    const body = [
      cause.line ? element("p", {class: "line"}, element("code", {}, prose(cause.line))) : null,
      cause.remedy ?
          element("p", {class: "remedy"}, element("span", {}, "Remedy "), prose(cause.remedy)) :
          null,
      list(cause.with).length ?
          element("ul", {}, list(cause.with).map((each) => element("li", {}, item(each)))) :
          null
    ];
    const head = [
      element("strong", {}, prose(cause.what)), " ",
      element("span", {class: "cause"}, prose(cause.cause)),
      costs.length ? element("span", {class: "cost"}, costs.join(" · ")) : null
    ];
    return body.some((part) => part) ?
        element("details", {open: true}, element("summary", {}, head), body) :
        element("p", {class: "leaf"}, head);
  };
  return element(
      "section", {class: "figure"},
      element(
          "header", {}, element("h3", {}, "Causes, the most costly first"),
          element(
              "span", {class: "tools"},
              csvButton(
                  "causes of compilations",
                  () => ({
                    caption: "Causes",
                    rows: causes,
                    columns: [
                      {name: "cause", value: (cause) => cause.cause},
                      {name: "what", value: (cause) => cause.what},
                      {name: "compiled", kind: "count", value: (cause) => cause.compiled},
                      {name: "loaded", kind: "count", value: (cause) => cause.loaded},
                      {name: "time", kind: "seconds", value: (cause) => cause.seconds},
                      {name: "line", value: (cause) => cause.line},
                      {name: "remedy", value: (cause) => cause.remedy}
                    ]
                  })))),
      element("ul", {class: "causes"}, costly.map((cause) => element("li", {}, item(cause)))));
}

function passesFigure(passes) {
  const rows = passes.filter((pass) => isNumber(pass.ms)).sort((a, b) => b.ms - a.ms);
  return spansFigure(
      rows.map((pass) => ({
                 name: pass.name,
                 text: millisecondsText(pass.ms),
                 spans: [{from: 0, to: pass.ms, mark: "c0"}]
               })),
      {
        title: "Time by pass",
        domain: [0, d3.max(rows, (pass) => pass.ms) || 1],
        label: "ms",
        name: "passes",
        says: `Bars of the time of ${rows.length} passes of the compiler`,
        table: () => ({
          caption: "Time by pass",
          rows,
          columns: [
            {name: "pass", value: (pass) => pass.name},
            {name: "time", kind: "ms", value: (pass) => pass.ms}
          ]
        }),
      });
}

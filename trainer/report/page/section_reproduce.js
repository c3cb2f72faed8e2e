// Reproduce: what is needed to have the same run again.

function reproduceSection(run) {
  const reproduce = run.reproduce || {};
  const block = (title, text) => element(
      "section", {class: "figure"},
      element(
          "header", {}, element("h3", {}, title),
          element(
              "span", {class: "tools"},
              button(
                  "copy", {class: "quiet", "aria-label": `copy the ${title.toLowerCase()}`},
                  () => copyText(asText(text), title.toLowerCase())))),
      element("pre", {class: "text", tabindex: 0}, prosePre(text)));
  return [
    list(reproduce.facts).length ? factList(reproduce.facts) : null,
    reproduce.command ? block("Command", reproduce.command) : null,
    reproduce.config ? block("Config", reproduce.config) : null,
  ];
}

function prosePre(text) { return element("bdi", {}, asText(text)); }

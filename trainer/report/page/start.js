// The page: header, navigation, and the sections of the chosen run. The last of the scripts, which
// are put together in the order of their names: those before it only define.

const kSections = [
  {id: "verdict", title: "Verdict", make: verdictSection},
  {id: "learning", title: "Learning", all: true, make: learningSection},
  {id: "step", title: "Step", make: stepSection},
  {id: "ranks", title: "Ranks", make: ranksSection},
  {id: "ops", title: "Ops", make: opsSection},
  {id: "memory", title: "Memory", make: memorySection},
  {id: "compilation", title: "Compilation", make: compilationSection},
  {id: "communication", title: "Communication", make: communicationSection},
  {id: "graph", title: "Graph", make: graphSection},
  {id: "foresight", title: "Foresight", make: foresightSection},
  {id: "reproduce", title: "Reproduce", make: reproduceSection},
];

function readData() {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  if (!data || data.format !== "lockstep report")
    throw new Error("the page holds no data of a lockstep report");
  data.runs = list(data.runs);
  return data;
}

function sectionOf(data, chosen, section) {
  const run = data.runs[chosen] || {}, told = run[section.id] || {};
  const made = element(
      "section", {id: section.id, "aria-labelledby": `${section.id}-title`},
      element("h2", {id: `${section.id}-title`}, section.title));
  if (section.all && data.runs.length > 1) {
    made.append(element(
        "ul", {class: "findings"},
        data.runs.map(
            (each, index) => element(
                "li", {}, element("i", {class: runMark(index), "aria-hidden": true}),
                clipped(runName(data.runs, index)), " ",
                prose((each[section.id] || {}).finding)))));
  } else if (told.finding) {
    made.append(element("p", {class: "finding"}, prose(told.finding)));
  }
  const finds =
      section.all ? data.runs.some((each) => (each[section.id] || {}).finding) : told.finding;
  let content = [];
  try {
    content = (section.all ? section.make(data, chosen) : section.make(run)).filter((node) => node);
  } catch (error) {
    console.error(error);
    content = [notice(`This section cannot be drawn: ${error.message}`, "warn")];
  }
  if (told.missing) made.append(notice(`What is missing here: ${asText(told.missing)}`));
  else if (!content.length && !finds)
    made.append(notice("The run recorded nothing of this.", "calm"));
  made.append(...content);
  made.choose = content.map((node) => node.choose).find((choose) => choose);
  const sources = section.all ?
      [...new Set(data.runs.flatMap((each) => list((each[section.id] || {}).sources)))].slice(
          0, 40) :
      list(told.sources);
  if (sources.length) {
    made.append(element(
        "footer", {class: "sources"}, element("span", {}, "From "),
        sources.map((source) => copyable(source, "source"))));
  }
  return made;
}

function pageHeader(data) {
  const made = data.made || {};
  const about =
      [made.at, made.lockstep && `lockstep ${made.lockstep}`].filter((text) => text).join(" · ");
  const names = data.runs.map((run) => asText(run.name));
  document.title = `${names.join(", ").slice(0, 120)} – lockstep report`;
  return element(
      "header", {class: "top"}, element("p", {class: "kicker"}, "lockstep report"),
      element("h1", {}, data.runs.length === 1 ? prose(names[0]) : `${data.runs.length} runs`),
      element(
          "p", {class: "about"}, prose(about), " ",
          made.command ? copyable(made.command, "command") : null),
      list(data.notices).map((text) => notice(text, "warn")), runsTable(data),
      differencesTable(data));
}

function fillNavigation(data, choose) {
  const nav = document.getElementById("navigation");
  const links = kSections.map((section) => element("a", {href: `#${section.id}`}, section.title));
  const select = element(
      "select", {id: "run", "aria-label": "run shown"},
      data.runs.map(
          (run, index) =>
              element("option", {value: index}, runName(data.runs, index).slice(0, 120))));
  select.addEventListener("change", () => choose(Number(select.value)));
  nav.append(element("div", {class: "brand"}, "lockstep"));
  if (data.runs.length > 1)
    nav.append(element("label", {class: "run"}, element("span", {}, "Run"), select));
  nav.append(element("div", {class: "links"}, links), themeButton());
  return links;
}

// Follows the system until it is pressed.
function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => document.documentElement.dataset.theme ?
      document.documentElement.dataset.theme === "dark" :
      system.matches;
  const made = button("", {class: "theme toggle"}, () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  const label = () => {
    made.textContent = isDark() ? "light theme" : "dark theme";
  };
  system.addEventListener("change", label);
  label();
  return made;
}

// Marks the link of the section at the top of the window.
function followSections(links) {
  const mark = () => {
    const sections = kSections.map((section) => document.getElementById(section.id));
    let current = 0;
    sections.forEach((section, index) => {
      if (section && section.getBoundingClientRect().top < 170) current = index;
    });
    links.forEach((link, index) => {
      if (index !== current) link.removeAttribute("aria-current");
      else if (!link.hasAttribute("aria-current")) {
        link.setAttribute("aria-current", "true");
        // In a narrow window links are a row that scrolls.
        link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.clientWidth / 2;
      }
    });
  };
  document.addEventListener("scroll", mark, {passive: true});
  mark();
}

function start() {
  const main = document.getElementById("report");
  let data;
  try {
    data = readData();
  } catch (error) {
    console.error(error);
    main.replaceChildren(notice(`This report cannot be read: ${error.message}`, "warn"));
    return;
  }
  const body = element("div", {class: "sections"});
  const fill = (chosen) => {
    hideTip();
    kSections.forEach((section, index) => {
      const old = body.children[index];
      // A section of all runs keeps what was zoomed and hidden in it.
      if (old && section.all) return old.choose && old.choose(chosen);
      const made = sectionOf(data, chosen, section);
      if (!old) return body.append(made);
      releaseCharts(old);
      old.replaceWith(made);
    });
  };
  main.replaceChildren(pageHeader(data), body);
  const links = fillNavigation(data, fill);
  fill(0);
  followSections(links);
  watchClippedTexts();
  addEventListener("beforeprint", drawAllCharts);
}

start();

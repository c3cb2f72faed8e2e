// Elements made of data. Every text of the data is untrusted: it becomes a text node, never markup,
// and stands in a <bdi>, so that marks of direction in it cannot turn what is around it.

// element("p", {class: "finding"}, "text", child, ...): properties are attributes; null children
// are left out.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") made.append(child);
  }
  return made;
}

function button(label, attributes, action) {
  const made = element("button", Object.assign({type: "button"}, attributes), label);
  made.addEventListener("click", action);
  return made;
}

// What is longer gets a box of its own: it scrolls there instead of filling the page.
const kLongText = 400;
// What is longer may be cut in a cell: it can be focused, which unfolds it.
const kShortText = 36;

function asText(value) { return value === null || value === undefined ? "" : String(value); }

// Marks that turn, or end the turning of, the text behind them.
const kTurningMarks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

// A text without such marks, to be one among others in a line.
function plainText(value) { return asText(value).replace(new RegExp(kTurningMarks, "g"), ""); }

// A sentence or a word, which wraps. One with marks of direction that it does not end would reach
// out of its <bdi>: it gets a box, which nothing reaches out of.
function prose(value) {
  const text = asText(value);
  const name = text.length > kLongText ? "long" : kTurningMarks.test(text) ? "turned" : null;
  return element("bdi", {class: name, tabindex: name === "long" ? 0 : null}, text);
}

// A text on one line, cut at the end of its box. Hovering shows all of it, focus unfolds it.
function clipped(value, name) {
  const text = asText(value);
  return element(
      "bdi", {class: name ? `clip ${name}` : "clip", tabindex: text.length > kShortText ? 0 : null},
      text);
}

// A text that is copied by a click, as the command that a figure comes from.
function copyable(value, label) {
  const text = asText(value);
  return element(
      "span", {class: "copyable"}, element("code", {}, prose(text)),
      button(
          "copy", {class: "quiet", "aria-label": `copy ${label || text.slice(0, 60)}`},
          () => copyText(text, "text")));
}

function notice(text, name) { return element("p", {class: `notice ${name || ""}`}, prose(text)); }

// Pairs of a name and a figure, with where it comes from.
function factList(facts, name) {
  return element(
      "dl", {class: `facts ${name || ""}`},
      list(facts).map(
          (fact) => element(
              "div", {}, element("dt", {}, prose(fact.name)), element("dd", {}, prose(fact.value)),
              fact.source ? element("dd", {class: "source"}, prose(fact.source)) : null)));
}

// A group of buttons of which one is pressed: [{value, label}]; `choose` is called with the new
// value.
function choice(label, options, chosen, choose) {
  const group = element("div", {class: "choice", role: "group", "aria-label": label});
  for (const option of options) {
    group.append(button(
        option.label, {"aria-pressed": String(option.value === chosen), "data-value": option.value},
        (event) => {
          for (const each of group.children)
            each.setAttribute("aria-pressed", String(each === event.currentTarget));
          choose(option.value);
        }));
  }
  return group;
}

function toggle(label, pressed, change) {
  return button(label, {class: "toggle", "aria-pressed": String(pressed)}, (event) => {
    const now = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(now));
    change(now);
  });
}

// Fields of the data may be absent.
function list(value) { return Array.isArray(value) ? value : []; }

function isNumber(value) { return typeof value === "number" && Number.isFinite(value); }

function total(values) { return d3.sum(values.filter(isNumber)); }

// Copies; where the page has no clipboard, as some browsers decide for files, a selected text is
// offered instead.
function copyText(text, what) {
  const offer = () => {
    const area = element(
        "textarea", {readonly: true, rows: 8, "aria-label": `${what}, selected for copying`});
    area.value = text;
    const box = element(
        "dialog", {class: "copy", "aria-label": "Copy"},
        element(
            "p", {},
            "This browser keeps the clipboard from the page. The text is selected: copy it."),
        area, button("Close", {}, () => box.close()));
    box.addEventListener("close", () => box.remove());
    document.body.append(box);
    box.showModal();
    area.focus();
    area.select();
    let copied = false;
    try {
      copied = document.execCommand("copy");
    } catch (error) {
      copied = false;
    }
    if (copied) {
      box.close();
      say(`copied ${what}`);
    }
  };
  if (navigator.clipboard && navigator.clipboard.writeText) {
    navigator.clipboard.writeText(text).then(() => say(`copied ${what}`), offer);
  } else {
    offer();
  }
}

// A short message, shown for a moment and read by a screen reader.
function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => {
    status.textContent = "";
  }, 4000);
}

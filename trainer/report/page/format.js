// Figures as text. Each kind of figure has one unit and one way to be written, in tables, charts
// and tips.

const kNothing = "–";

// As many decimals for all values of a column, so that it aligns.
function decimalsFor(values) {
  const largest = d3.max(values, (value) => isNumber(value) ? Math.abs(value) : 0) || 0;
  return largest >= 1000 ? 1 : largest >= 10 ? 2 : 3;
}

function fixedNumber(value, decimals) {
  if (!isNumber(value)) return kNothing;
  const least = Math.pow(10, -decimals);
  if (value !== 0 && Math.abs(value) < least / 2)
    return (value < 0 ? "> -" : "< ") + least.toFixed(decimals);
  return d3.format(`,.${decimals}f`)(value);
}

// 1.200e-10 -> 1.2e-10; d3's own way to trim takes the exponent's zeros, too.
function trimmedNumber(text) {
  return text.replace(/(\.\d*?)0+(?=e)/, "$1").replace(/\.(?=e)/, "");
}

// Four significant digits, for values of any size.
function plainNumber(value) {
  if (!isNumber(value)) return kNothing;
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return d3.format(",")(value);
  if (size >= 1e6 || size < 1e-4) return trimmedNumber(d3.format(".3e")(value));
  return d3.format(".4r")(value);
}

// Three significant digits, as in a sentence.
function millisecondsText(value) {
  if (!isNumber(value)) return kNothing;
  const size = Math.abs(value);
  return `${fixedNumber(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3)} ms`;
}

// As C++ writes them: three significant digits, and no "1024 KiB".
function bytesText(value) {
  if (!isNumber(value)) return kNothing;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = Math.abs(value), unit = 0;
  while (size >= 1023.5 && unit + 1 < units.length) {
    size /= 1024;
    ++unit;
  }
  const decimals = unit === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return `${value < 0 ? "-" : ""}${size.toFixed(decimals)} ${units[unit]}`;
}

function percentText(value) {
  return isNumber(value) ? `${fixedNumber(100 * value, 1)} %` : kNothing;
}

function signedPercent(value) {
  return isNumber(value) ? `${d3.format("+.1f")(100 * value)} %` : kNothing;
}

// 9.00e10 flop/s -> "90.0 Gflop/s".
function prefixed(value, unit) {
  if (!isNumber(value)) return kNothing;
  const text = value === 0 ? "0" : d3.format(".3s")(value);
  const letter = text.match(/[a-zµ]$/i);
  return letter ? `${text.slice(0, -1)} ${letter[0]}${unit}` : `${text} ${unit}`;
}

function secondsText(value) {
  if (!isNumber(value)) return kNothing;
  if (value < 60) return `${fixedNumber(value, value < 10 ? 2 : 1)} s`;
  const whole = Math.round(value), hours = Math.floor(whole / 3600),
        minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

// Kinds of columns: {unit: behind the column's name, digits: are right-aligned, text(value,
// decimals)}.
const kColumnKinds = {
  text: {text: (value) => asText(value)},
  count: {digits: true, text: (value) => isNumber(value) ? d3.format(",")(value) : kNothing},
  ms: {digits: true, unit: "ms", text: fixedNumber},
  seconds: {digits: true, unit: "s", text: fixedNumber},
  bytes: {digits: true, text: bytesText},
  share: {digits: true, text: percentText},
  flops: {digits: true, text: (value) => prefixed(value, "flop")},
  flop_rate: {digits: true, text: (value) => prefixed(value, "flop/s")},
  number: {digits: true, text: plainNumber},
  ratio: {digits: true, text: (value) => isNumber(value) ? `${value.toFixed(2)} ×` : kNothing},
};

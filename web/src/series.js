// From rows to what a plot draws: columns y against column x, once for each group of rows.
//
// uPlot wants one rising list of x for all series.  An x that a series has k times stands in it max(k) times;
// a series without a point there has null.

export const MOST_SERIES = 60; // more than that nobody tells apart

export function columnOf(table, name) {
  const found = table.columns.find((column) => column.name === name);
  return found ? found.values : null;
}

export function isNumeric(values) {
  return values.some((v) => typeof v === 'number') && !values.some((v) => typeof v === 'string');
}

/** X_error where there is one. */
export function errorOf(table, name) {
  return columnOf(table, `${name}_error`) ? `${name}_error` : null;
}

/** Numbers of a column; words become their place in the order of appearance. */
function numbersOf(values) {
  if (isNumeric(values)) return { numbers: values, labels: null };
  const places = new Map();
  const numbers = values.map((value) => {
    const word = value == null ? '–' : String(value);
    if (!places.has(word)) places.set(word, places.size);
    return places.get(word);
  });
  return { numbers, labels: [...places.keys()] };
}

function groupsOf(table, names) {
  const groups = new Map();
  const columns = names.map((name) => columnOf(table, name));
  for (let row = 0; row < table.rows; row++) {
    const words = columns.map((values, k) => {
      const value = values[row];
      return typeof value === 'string' ? value : `${names[k]} ${value == null ? '–' : value}`;
    });
    const label = words.join(', ');
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(row);
  }
  return groups;
}

/** Points of one series in the order of x; what the axes cannot show is left out. */
function pointsOf(rows, xs, ys, errors, choice, words) {
  const points = [];
  for (const row of rows) {
    const x = xs[row];
    const y = ys[row];
    if (typeof x !== 'number' || typeof y !== 'number') continue;
    if ((choice.logX && x <= 0 && !words) || (choice.logY && y <= 0)) continue;
    const error = errors && typeof errors[row] === 'number' ? Math.abs(errors[row]) : 0;
    points.push({ x, y, error, row });
  }
  return points.sort((a, b) => a.x - b.x);
}

/** One list of x, and for each series the places of its points in it. */
function align(series) {
  const most = new Map();
  for (const { points } of series) {
    for (let i = 0; i < points.length; ) {
      let end = i;
      while (end < points.length && points[end].x === points[i].x) end++;
      if ((most.get(points[i].x) || 0) < end - i) most.set(points[i].x, end - i);
      i = end;
    }
  }
  const xs = [];
  const first = new Map();
  for (const x of [...most.keys()].sort((a, b) => a - b)) {
    first.set(x, xs.length);
    for (let k = most.get(x); k > 0; k--) xs.push(x);
  }
  for (const one of series) {
    one.values = new Array(xs.length).fill(null);
    one.points.forEach((point, i) => {
      const before = i && one.points[i - 1].x === point.x ? one.points[i - 1].place + 1 : first.get(point.x);
      point.place = before;
      one.values[before] = point.y;
    });
  }
  return xs;
}

function ranges(series, choice, words) {
  const x = [Infinity, -Infinity];
  const y = [Infinity, -Infinity];
  for (const { points } of series) {
    for (const p of points) {
      x[0] = Math.min(x[0], p.x);
      x[1] = Math.max(x[1], p.x);
      y[1] = Math.max(y[1], p.y + p.error);
      const low = p.y - p.error;
      y[0] = Math.min(y[0], choice.logY && low <= 0 ? p.y : low);
    }
  }
  return { x: pad(x, choice.logX && !words, words ? 0.06 : 0.015), y: pad(y, choice.logY, 0.05) };
}

/** Room around data, and a width where there is none. */
function pad([low, high], log, share) {
  if (low > high) return log ? [0.1, 1] : [0, 1];
  if (log) {
    const factor = low === high ? 2 : (high / low) ** share;
    return [low / factor, high * factor];
  }
  const room = high > low ? share * (high - low) : 0.1 * Math.abs(high) || 1;
  return [low - room, high + room];
}

/** choice: {x, y: [{column, error}], group: [names], logX, logY} */
export function makeSeries(table, choice) {
  const { numbers, labels } = numbersOf(columnOf(table, choice.x));
  const groups = groupsOf(table, choice.group);
  const series = [];
  let left = 0;
  let number = 0;
  for (const [label, rows] of groups) {
    choice.y.forEach((y, k) => {
      const errors = y.error && columnOf(table, y.error);
      const points = pointsOf(rows, numbers, columnOf(table, y.column), errors, choice, labels !== null);
      if (!points.length) return;
      if (series.length === MOST_SERIES) {
        left++;
        return;
      }
      series.push({
        label: label && choice.y.length > 1 ? `${y.column}, ${label}` : label || y.column,
        column: y.column,
        points,
        colour: choice.y.length > 1 ? k : number,
        dash: groups.size > 1 ? number : 0,
      });
    });
    number++;
  }
  const xs = align(series);
  return { xs, labels, series, left, ranges: ranges(series, choice, labels !== null) };
}

// A table that sorts, and lays out only the rows in sight: ten thousand rows cost what forty cost.
import { element, toggle } from './dom.js';
import { cell } from './format.js';

const ROW = 28; // pixels, as in the style
const AROUND = 12; // rows beyond the edges
const MOST_PRINTED = 500;
const WIDEST = 34; // characters of a column; longer texts are cut, and whole in their title

const tables = [];
export const printAll = (on) => tables.forEach((table) => table.print(on));

/** Name of a column: name of that of its errors.  X_error belongs to X; plots know others. */
function errorNames(table) {
  const names = new Map();
  for (const { name } of table.columns) {
    if (table.columns.some((other) => other.name === `${name}_error`)) names.set(name, `${name}_error`);
  }
  for (const plot of table.plots) {
    for (const { column, error } of plot.y) if (error) names.set(column, error);
  }
  return names;
}

/** Columns with their errors beside them. */
function paired(table) {
  const errors = errorNames(table);
  const hidden = new Set(errors.values());
  return table.columns
    .filter(({ name, made }) => !made && !hidden.has(name))
    .map(({ name, values }) => {
      const error = table.columns.find((column) => column.name === errors.get(name));
      return { name, values, errors: error ? error.values : null };
    });
}

function whole(table) {
  return table.columns.filter((column) => !column.made).map(({ name, values }) => ({ name, values, errors: null }));
}

export class Table {
  constructor(table) {
    this.table = table;
    this.all = false;
    this.head = element('tr');
    this.body = element('tbody');
    this.grid = element('table', {}, element('thead', {}, this.head), this.body);
    this.scroll = element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': `Table ${table.name}`,
      onscroll: () => this.fill() }, this.grid);
    const digits = toggle('all digits', false, (on) => this.choose(on));
    this.element = element('div', {},
      element('h3', {}, table.name, ' ', element('small', {}, `${table.rows} rows`), digits), this.scroll);
    tables.push(this);
    this.choose(false);
  }

  choose(all) {
    this.all = all;
    this.columns = all ? whole(this.table) : paired(this.table);
    this.order = Array.from({ length: this.table.rows }, (_, i) => i);
    this.by = null;
    this.head.replaceChildren(...this.columns.map((column, c) => this.heading(column, c)));
    this.fill(true);
  }

  /** A column is as wide as its longest cell, so that nothing moves while rows come and go. */
  heading(column, c) {
    let width = column.name.length + 2;
    const step = Math.max(1, Math.floor(this.table.rows / 300));
    for (let row = 0; row < this.table.rows; row += step) width = Math.max(width, this.text(column, row).length);
    const button = element('button', { type: 'button', onclick: () => this.sort(c) }, column.name);
    const made = element('th', { scope: 'col', 'aria-sort': 'none' }, button);
    made.style.minWidth = `${Math.min(width, WIDEST)}ch`;
    if (column.values.some((v) => typeof v === 'string')) made.className = 'text';
    return made;
  }

  text(column, row) {
    return cell(column.values[row], column.errors && column.errors[row], this.all);
  }

  /** Up, down, and as it was. */
  sort(c) {
    const down = this.by === c && this.sign === 1;
    const none = this.by === c && this.sign === -1;
    this.by = none ? null : c;
    this.sign = down ? -1 : 1;
    this.order = Array.from({ length: this.table.rows }, (_, i) => i);
    if (!none) {
      const { values } = this.columns[c];
      this.order.sort((a, b) => compare(values[a], values[b], this.sign) || a - b);
    }
    [...this.head.children].forEach((th, k) =>
      th.setAttribute('aria-sort', k !== this.by ? 'none' : down ? 'descending' : 'ascending'));
    this.scroll.scrollTop = 0;
    this.fill(true);
  }

  row(index) {
    const made = element('tr');
    for (const column of this.columns) {
      const text = this.text(column, index);
      const value = column.values[index];
      const td = element(typeof value === 'string' ? 'td.text' : 'td', {}, text);
      if (text.length > WIDEST || (typeof value === 'number' && !this.all)) {
        const error = column.errors && column.errors[index];
        td.title = error > 0 ? `${value} ± ${error}` : String(value);
      }
      made.append(td);
    }
    return made;
  }

  fill(again = false) {
    const { length } = this.order;
    const height = this.scroll.clientHeight || 420;
    const first = this.printing ? 0 : Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - AROUND);
    const last = this.printing
      ? Math.min(length, MOST_PRINTED)
      : Math.min(length, Math.ceil((this.scroll.scrollTop + height) / ROW) + AROUND);
    if (!again && this.first === first && this.last === last) return;
    [this.first, this.last] = [first, last];
    const rows = this.order.slice(first, last).map((index) => this.row(index));
    this.body.replaceChildren(space(first, this.columns.length), ...rows,
      space(this.printing ? 0 : length - last, this.columns.length));
  }

  print(on) {
    this.printing = on;
    this.fill(true);
  }
}

/** The room of rows that are not laid out. */
function space(rows, columns) {
  const cellOf = element('td', { colspan: columns });
  cellOf.style.height = `${rows * ROW}px`;
  return element('tr.space', { 'aria-hidden': 'true', hidden: rows === 0 }, cellOf);
}

/** What is missing comes last, up or down. */
function compare(a, b, sign) {
  if (a == null || b == null) return (a == null) - (b == null);
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
}

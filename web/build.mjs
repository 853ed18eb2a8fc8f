// Bundles src/main.js and uPlot into script.js, and writes the digest that the page's policy names.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const licence = readFileSync('node_modules/uplot/LICENSE', 'utf8');
const made = await build({
  entryPoints: ['src/main.js'],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none', // the whole licence is shown on the page instead
  loader: { '.css': 'text' },
  define: { UPLOT_LICENCE: JSON.stringify(licence) },
  write: false,
});
const script = made.outputFiles[0].text;
if (/<\/script|<!--/i.test(script)) throw new Error('the script would end its own element');
writeFileSync('script.js', script);
writeFileSync('script.sha256', createHash('sha256').update(script).digest('base64'));

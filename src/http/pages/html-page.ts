import { createHash } from 'node:crypto';
import { type PolicySources, pagePolicy } from '../response-fields.js';
import type { FixedAnswer } from './fixed-answer.js';

/** What a page is made of. */
export interface HtmlPage {
  readonly title: string;
  /** The addresses of what it loads, from this server. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  /** Of the element that the scripts fill. */
  readonly elementId: string;
  /** What runs when the scripts are loaded. */
  readonly start: string;
  /** Sources of the Content-Security-Policy beyond the scripts and styles, by directive. */
  readonly sources: PolicySources;
}

/**
 * A page whose scripts make its content, under a policy that lets nothing load but what is named: no other
 * host, and no script but this server's and the page's own, which is told by its digest
 * (Content Security Policy Level 3, section 2.3.1).
 */
export function htmlPage({ title, styles, scripts, elementId, start, sources }: HtmlPage): FixedAnswer {
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<title>${title}</title>`,
    // Otherwise the browser asks for /favicon.ico.
    '<link rel="icon" href="data:,">',
    '<style>html, body { height: 100%; margin: 0 }</style>',
    ...styles.map((address) => `<link rel="stylesheet" href="${address}">`),
    `<div id="${elementId}" style="height: 100%"></div>`,
    '<noscript>This page needs JavaScript.</noscript>',
    ...scripts.map((address) => `<script src="${address}"></script>`),
    `<script>${start}</script>`,
    '</html>',
    '',
  ];
  return {
    mediaType: 'text/html; charset=utf-8',
    body: lines.join('\n'),
    headers: { 'content-security-policy': policyOf(start, sources) },
  };
}

function policyOf(start: string, sources: PolicySources): string {
  const digest = createHash('sha256').update(start).digest('base64');
  return pagePolicy({
    'script-src': ["'self'", `'sha256-${digest}'`],
    // Both pages' libraries write styles into elements; what could be injected so is how they look.
    'style-src': ["'self'", "'unsafe-inline'"],
    'connect-src': ["'self'"],
    ...sources,
  });
}

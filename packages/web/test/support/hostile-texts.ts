/** No server listens at this address. A request to it counts as a foreign request. */
const ELSEWHERE = 'http://127.0.0.1:9';

const HIT = 'window.hits=(window.hits||0)+1';

const ELEMENTS = [
  'img src=x',
  'svg',
  'body',
  'video src=x',
  'audio src=x',
  'input autofocus',
  'details open',
  'marquee',
];
const HANDLERS = ['onerror', 'onload', 'onfocus', 'ontoggle', 'onstart', 'onmouseenter', 'onanimationstart'];

const HANDLED = ELEMENTS.flatMap((element) => HANDLERS.map((handler) => `<${element} ${handler}="${HIT}">`));

const MARKUP = [
  `<script>${HIT}</script>`,
  `<script src="${ELSEWHERE}/a.js"></script>`,
  `<ScRiPt>${HIT}</sCrIpT>`,
  `"><script>${HIT}</script>`,
  `'><img src=x onerror=${HIT}>`,
  `</script><script>${HIT}</script>`,
  `</style><script>${HIT}</script>`,
  `</textarea><script>${HIT}</script>`,
  `<iframe src="javascript:${HIT}"></iframe>`,
  `<iframe srcdoc="<script>parent.${HIT}</script>"></iframe>`,
  `<object data="${ELSEWHERE}/o"></object>`,
  `<embed src="${ELSEWHERE}/e">`,
  `<link rel="stylesheet" href="${ELSEWHERE}/s.css">`,
  `<link rel="prefetch" href="${ELSEWHERE}/p">`,
  `<style>@import '${ELSEWHERE}/i.css'; * { background: url(${ELSEWHERE}/b) }</style>`,
  `<div style="background:url(${ELSEWHERE}/d)">x</div>`,
  `<meta http-equiv="refresh" content="0;url=${ELSEWHERE}/m">`,
  `<base href="${ELSEWHERE}/">`,
  `<form action="${ELSEWHERE}/f"><button>send</button></form>`,
  `<img src="${ELSEWHERE}/i.png">`,
  `<img srcset="${ELSEWHERE}/i2.png 1x">`,
  `<picture><source srcset="${ELSEWHERE}/i3.png"><img></picture>`,
  `<svg><image href="${ELSEWHERE}/i4.png"/></svg>`,
  `<svg><use href="${ELSEWHERE}/u.svg#a"/></svg>`,
  `<svg><script>${HIT}</script></svg>`,
  `<math><mtext><script>${HIT}</script></mtext></math>`,
  `<template><script>${HIT}</script></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${HIT}>"></noscript>`,
  `<a href="javascript:${HIT}" id="hostile">a</a>`,
  `<video poster="${ELSEWHERE}/v.png"></video>`,
  `<!--><script>${HIT}</script>-->`,
  `<![CDATA[<script>${HIT}</script>]]>`,
];

const MARKDOWN = [
  `![remote](${ELSEWHERE}/r.png)`,
  `![remote][ref]\n\n[ref]: ${ELSEWHERE}/ref.png`,
  `[click](javascript:${HIT})`,
  `[click](JaVaScRiPt:${HIT})`,
  `[click](java\tscript:${HIT})`,
  `[click](&#106;avascript:${HIT})`,
  `[click](data:text/html,<script>${HIT}</script>)`,
  `[click](vbscript:${HIT})`,
  `[click](file:///etc/passwd)`,
  `<javascript:${HIT}>`,
  `[a](<javascript:${HIT}>)`,
  `![x](data:image/svg+xml,<svg onload=${HIT}>)`,
  `![x](x" onerror="${HIT})`,
  `[x](https://example.com" onclick="${HIT})`,
  `\`\`\`js" onmouseover="${HIT}\ncode\n\`\`\``,
  `| <img src=x onerror=${HIT}> | b |\n|---|---|\n| <script>${HIT}</script> | ![i](${ELSEWHERE}/t.png) |`,
  `\u202e<script>${HIT}</script>\u202c`,
  `{{constructor.constructor('${HIT}')()}}`,
  `\${${HIT}}`,
];

/** Texts that would run code or load something if a page took them for markup. */
export const HOSTILE_TEXTS: readonly string[] = [...HANDLED, ...MARKUP, ...MARKDOWN];

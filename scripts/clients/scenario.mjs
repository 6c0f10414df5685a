// The calls of the model of every client, and the texts that it must read.
import assert from 'node:assert/strict';

/** Long enough for a gateway to answer with a handle, and for a client to give up on its call. */
const QUIET_SECONDS = 90;

export const STEPS = [
  {
    name: 'every description, whole',
    act({ first, offer }) {
      for (const [name, description] of offer.tools) {
        const tool = first.tools.find((one) => one.name.endsWith(name));
        assert.equal(plain(tool?.description), plain(description), name);
      }
      const { length } = offer.tools.get('run_script');
      assert.ok(length <= 2_000, `The description of run_script has ${length} characters.`);
      return `${length} characters of run_script`;
    },
  },
  {
    name: 'the instructions',
    act({ client, first, offer }) {
      const isShown = plain(first.instructions).includes(plain(offer.instructions));
      assert.equal(isShown, client.showsInstructions);
      return isShown ? `${offer.instructions.length} characters` : 'this client does not show them';
    },
  },
  {
    name: 'what it can ask its user',
    act({ client, place }) {
      const declared = place.capabilities();
      const forms = declared.elicitation === undefined ? 'no forms' : 'forms';
      assert.equal(forms, client.showsForms ? 'forms' : 'no forms', JSON.stringify(declared));
      return `${forms}: ${JSON.stringify(declared)}`;
    },
  },
  {
    name: 'a value',
    async act({ script }) {
      const { text } = await script('return { letters: await tools.mcp.desk.count() }');
      assert.match(text, /3 letters/u);
    },
  },
  {
    name: 'a failure, with its line and what was done',
    async act({ script }) {
      const { text } = await script("await tools.mcp.desk.count();\nthrow new Error('No paper')");
      assert.match(text, /No paper/u);
      assert.match(text, /> *2 \|/u);
      assert.match(text, /mcp\.desk\.count.*3 letters/u);
    },
  },
  {
    name: 'an unknown tool, with the name of a known one',
    async act({ script }) {
      const { text } = await script("return tools.mcp.desk.sent({ to: 'Ada' })");
      assert.match(text, /\bsend\b/u);
    },
  },
  {
    name: 'a large value, and the way to its parts',
    async act({ script, call }) {
      const { text } = await script("return 'x'.repeat(100_000) + ' the end'");
      assert.match(text, /100010 characters/u);
      assert.match(text, /read_value/u);
      const end = await call('read_value', { scriptId: scriptIdIn(text), offset: 99_000 });
      assert.match(end.text, /the end/u);
      return `${text.length} characters of it`;
    },
  },
  {
    name: 'an image, once',
    async act({ script }) {
      const { text, images } = await script('return tools.mcp.desk.picture()');
      assert.equal(images, 1, text);
      assert.doesNotMatch(text, /iVBORw0KGgo/u);
    },
  },
  {
    name: 'a suspension, with the command of the user',
    async act({ script, call, place }) {
      const { text } = await script("return tools.mcp.desk.send({ to: 'Ada' })");
      const [, decide] = /`toolscript (approvals approve \S+)`/u.exec(text) ?? assert.fail(text);
      assert.match(text, /Ada/u);
      await place.run('toolscript', decide.split(' '));
      const resumed = await call('resume_script', { scriptId: scriptIdIn(text) });
      assert.match(resumed.text, /sent to Ada/u);
    },
  },
  {
    name: "an approval in the client's form",
    isFor: ({ answersForms }) => answersForms === true,
    async act({ script }) {
      const { text } = await script("return tools.mcp.desk.send({ to: 'Eve' })");
      assert.match(text, /sent to Eve/u);
    },
  },
  {
    name: `a script that is quiet for ${QUIET_SECONDS} s`,
    isLong: true,
    async act({ script, call }) {
      const { text } = await script(`return tools.mcp.desk.rest({ seconds: ${QUIET_SECONDS} })`);
      assert.match(text, /wait_script/u);
      let waits = 0;
      let read = { text };
      while (!/rested/u.test(read.text) && waits < 4) {
        waits += 1;
        read = await call('wait_script', { scriptId: scriptIdIn(text) });
      }
      assert.match(read.text, /rested/u);
      return `${waits} waits`;
    },
  },
];

function scriptIdIn(text) {
  return /scr_\w+/u.exec(text)?.[0] ?? assert.fail(`The text names no script: ${text}`);
}

/** Clients replace some characters, such as the ellipsis, and indent lines. */
function plain(text) {
  return text?.normalize('NFKC').replaceAll(/\s+/gu, ' ').trim();
}

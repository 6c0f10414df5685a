import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scene, script, text, type Turn } from './scene.js';

/** A turn in a different conversation than the previous turn. */
const anew = (turn: Turn): Turn => ({ ...turn, begins_anew: true }) as Turn;

const LAUNCH = "return (await tools.agents.launch.sync({ task: 'Read a.txt.' })).answer";

function leader(agents: object | undefined, more: object = {}): Scene {
  const scene = new Scene();
  const path = scene.ownFile('agents/leader.json');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ slug: 'leader', ...(agents === undefined ? {} : { agents }), ...more }));
  writeFileSync(join(scene.workspace, 'a.txt'), 'one\ntwo\n');
  return scene;
}

const TURNS = [
  script(LAUNCH),
  anew(script("return (await tools.readFile({ path: 'a.txt' })).totalLines")),
  text('It has two lines.'),
  anew(text('Two lines, the sub-agent says.')),
];

describe('sub-agents in a conversation', () => {
  it('are shown indented under the script that launched them, with their own steps', async () => {
    const { status, stdout, stderr } = await leader({}).chat('Ask a sub-agent.', TURNS, [
      '--agent',
      'leader',
      '--approve',
      'auto',
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/ {2}│ leader 1 Read a\.txt\.\n/u);
    expect(stdout).toMatch(/ {2}│ leader 1 ▶ script [0-9a-f]{8} \(ts, 1 line\)\n {2}│ leader 1 ✓ readFile a\.txt/u);
    expect(stdout).toMatch(/ {2}│ leader 1 It has two lines\.\n {2}│ leader 1 ✔ completed\n/u);
    expect(stdout).toContain('Two lines, the sub-agent says.');
  });

  it('do not exist unless the agent has "agents"', async () => {
    const { stdout } = await leader(undefined).chat(
      'Ask a sub-agent.',
      [script(LAUNCH), text('No.')],
      ['--agent', 'leader', '--approve', 'auto'],
    );
    expect(stdout).toContain("Property 'agents' does not exist on type 'Tools'");
  });

  it('are exposed beside the tools that the agent names', async () => {
    const scene = leader({}, { tools: ['readFile', 'applyPatch'] });
    const patch = '*** Begin Patch\n*** Add File: b.txt\n+new\n*** End Patch';
    const turns = [
      script(LAUNCH),
      anew(script(`return tools.applyPatch({ patch: ${JSON.stringify(patch)} })`)),
      text('Done.'),
      anew(text('Done.')),
    ];
    const { status, stderr } = await scene.chat('Ask.', turns, ['--agent', 'leader', '--approve', 'auto']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(readFileSync(join(scene.workspace, 'b.txt'), 'utf8')).toBe('new\n');
  });

  it('ask nobody where nobody answers: the call of a sub-agent is denied, with the reason', async () => {
    const scene = leader({});
    const patch = '*** Begin Patch\n*** Add File: b.txt\n+new\n*** End Patch';
    const turns = [
      script(LAUNCH),
      anew(script(`return tools.applyPatch({ patch: ${JSON.stringify(patch)} })`)),
      text('I could not.'),
      anew(text('It could not.')),
    ];
    writeFileSync(scene.ownFile('config.json'), JSON.stringify({ rules: [{ tool: 'agents.*', action: 'approve' }] }));
    const { stdout } = await scene.chat('Ask.', turns, ['--agent', 'leader']);
    expect(stdout).toContain('Nobody can decide now about a call of the sub-agent leader');
  });

  it('are only those that the file of the agent names', async () => {
    const scene = leader({ names: ['other'] });
    writeFileSync(scene.ownFile('agents/third.json'), JSON.stringify({ slug: 'third' }));
    const code = "return tools.agents.launch.sync({ task: 'Go.', agent: 'third' })";
    const { stdout } = await scene.chat(
      'Ask.',
      [script(code), text('No.')],
      ['--agent', 'leader', '--approve', 'auto'],
    );
    expect(stdout).toContain('The agent leader may not launch third. Launch other instead. The user can add third');
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenario } from '@toolscript/core/providers';
import { Place } from '../support/place.js';
import type { Finished, StartOptions } from '../support/program.js';

export type Turn = Scenario['turns'][number];

export const text = (said: string): Turn => ({ parts: [{ type: 'text', text: said }] });

export const script = (code: string, said?: string): Turn => ({
  parts: [...(said === undefined ? [] : [{ type: 'text', text: said } as const]), { type: 'script', code }],
});

/** A place with a scripted model in it. */
export class Scene extends Place {
  /** The flag that names the model, which plays these turns in the next process. */
  model(...turns: Turn[]): string[] {
    const file = join(this.base, 'scenario.json');
    writeFileSync(file, JSON.stringify({ turns }));
    return ['--model', `scripted:${file}`];
  }

  chat(
    prompt: string,
    turns: readonly Turn[],
    more: readonly string[] = [],
    options?: StartOptions,
  ): Promise<Finished> {
    const args = ['chat', prompt, ...this.model(...turns), ...more];
    return options === undefined ? this.run(args) : this.toolscript(args, options);
  }

  /** A file of this name in the user's own folder. */
  ownFile(name: string): string {
    return join(this.base, 'config', 'toolscript', name);
  }
}

import { z } from 'zod';
import { oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

/**
 * Each document describes in prose where the matter continued, so only understanding finds the next document, not a
 * rule.
 */
const DOCUMENTS = {
  'minutes-03': {
    title: 'Committee minutes, March',
    text: 'Present were the chair, Mr. Hale, Ms. Okafor and the secretary. The roof of the reading room was reported sound after the winter. On the removal of the archive to the harbour building there was a long discussion. Ms. Okafor feared for the older maps; Mr. Hale held that damp was a matter of ventilation and not of place. The members did not want to decide before they had seen figures, and put the question off until they would meet again after the summer. The secretary was thanked for the new index. The meeting closed at nine.',
  },
  'minutes-05': {
    title: 'Committee minutes, May',
    text: 'A short meeting about the garden wall. Three offers were opened; the second was taken. Nothing else was on the table.',
  },
  'minutes-09': {
    title: 'Committee minutes, September',
    text: 'The first meeting since June. The secretary read out the figures for the harbour building: rent, shelves, drying plant, insurance. They were thought high, though not out of reach. After an hour it was clear that the members would not agree among themselves; they therefore asked the treasurer to look at what the reserve could bear and to put his opinion before the board in writing. In other matters, the lending of the globe to the school was approved for one term.',
  },
  'letter-treasurer-10': {
    title: 'Letter of the treasurer, October',
    text: 'To the board. You wish to know whether we can afford the harbour building. I have gone through the reserve twice. The rent can be borne for six years; the drying plant cannot, unless the county takes half. I spoke to the county, whose archivist was friendly and promised nothing. My advice is to say yes on the condition that she signs, and otherwise to stay where we are. I would let her have the last word: she knows what damp does to paper better than any of us.',
  },
  'letter-board-10': {
    title: 'Letter of the board to the members, October',
    text: 'Dear members, the fee for the coming year remains as it is. We wish you a good winter and remind you that books borrowed before August are due.',
  },
  'note-county-11': {
    title: 'Note of the county archive, November',
    text: 'The county archivist, Dr. Lindqvist, has visited the harbour building with the treasurer on the fourth of this month. Having measured the humidity on both floors she is content that the upper floor is fit for paper. The county takes half of the drying plant. She has signed the agreement on 17 November, on behalf of both parties, as the board had empowered her to. The maps are to go last.',
  },
  'note-school-11': {
    title: 'Note of the school, November',
    text: 'The globe has come back in one piece. The children have written a letter of thanks, which is enclosed.',
  },
};
const CHAIN = ['minutes-03', 'minutes-09', 'letter-treasurer-10', 'note-county-11'];
const steps = [['listDocuments', {}], ...CHAIN.map((id) => ['readDocument', { id }])];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'follow-prose',
  title: 'a question through letters, each read to find the next',
  role: 'You answer questions from an archive of letters and minutes. Read only what you need. Be brief.',
  ask: 'The committee talked about moving the archive in March. Who finally approved the move, and when?',
  open: serviceWorld(() => ({
    tools: [
      {
        name: 'listDocuments',
        description: 'All documents, by title.',
        input: z.object({}),
        output: z.array(z.object({ id: z.string(), title: z.string() })),
        execute: () => Object.entries(DOCUMENTS).map(([id, { title }]) => ({ id, title })),
      },
      {
        name: 'readDocument',
        description: 'The text of a document.',
        input: z.object({ id: z.string() }),
        output: z.object({ id: z.string(), title: z.string(), text: z.string() }),
        execute: ({ id }) => ({ id, ...DOCUMENTS[id] }),
      },
    ],
  })),
  ways: {
    one: oneByOne(steps),
    parallel: oneByOne(steps),
    scripts: [
      script('return await tools.listDocuments({});'),
      ...CHAIN.map((id) => script(`return (await tools.readDocument({ id: '${id}' })).text;`)),
    ],
  },
  answer: 'Dr. Lindqvist, the county archivist, approved it on 17 November.',
  evidence: ['Dr. Lindqvist', '17 November'],
  value: DOCUMENTS['note-county-11'].text,
  why: 'Each step needs the model to understand what it has read, so a script makes one call a turn too, and everything is read again with every turn.',
};

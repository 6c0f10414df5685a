import { AIMessage, createAgent, fakeModel, tool } from 'langchain';
import { ANSWER, CODE, harness, QUESTION, runScript } from './weather.ts';

const { name, description, inputSchema } = runScript;
const run_script = tool(
  async (input, { signal }) => {
    const output = await runScript.execute(input as { code: string }, signal && { signal });
    console.log(output);
    return output;
  },
  { name, description, schema: { ...inputSchema, required: [...inputSchema.required] } },
);

/** A scripted model: use the name of a real one. */
const model = fakeModel()
  .respondWithTools([{ name, args: { code: CODE }, id: 'call_1' }])
  .respond(new AIMessage(ANSWER));

const agent = createAgent({ model, tools: [run_script] });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: QUESTION }] });
console.log('answer:', messages.at(-1)?.content);
await harness.close();

export type { Scenario } from './scenario.js';
export { ScenarioSchema } from './scenario.js';
export { scriptedModel, type ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';
export { startScriptedServer, type ScriptedServer, type ScriptedServerOptions } from './scripted-server.js';

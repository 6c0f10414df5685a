export { responseRoutes } from './routes.js';

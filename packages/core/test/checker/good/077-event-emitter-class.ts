// style: class-heavy, plain JavaScript
class Emitter {
  listeners = {};
  on(name, fn) {
    (this.listeners[name] = this.listeners[name] || []).push(fn);
    return () => {
      this.listeners[name] = this.listeners[name].filter((f) => f !== fn);
    };
  }
  emit(name, ...args) {
    (this.listeners[name] || []).forEach((fn) => fn(...args));
  }
}
const bus = new Emitter();
const log = [];
const off = bus.on('file', (path, size) => log.push(path + '=' + size));
const { entries } = await tools.listDir({ path: 'src' });
for (const e of entries) bus.emit('file', e.name, e.size);
off();
bus.emit('file', 'ignored', 0);
return log;

// style: quoted method name
class Base { run() { return this.step(); } }
class Child extends Base { 'step'() { return 5; } }
return new Child().run();

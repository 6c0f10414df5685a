throw new Error('this thread never comes to life');

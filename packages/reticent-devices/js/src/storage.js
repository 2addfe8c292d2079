// What outlives a page: records in IndexedDB, which the tabs and workers of a site share, on http as well.

/** A storage for Outbox, in the database `name`. change(work): work gets all records in a Map and changes them without
 * waiting for anything; nothing else changes them meanwhile, in whatever tab. Once the promise is fulfilled they are on
 * the disc. If work throws, nothing is changed. */
export const indexed = (name) => ({
  async change(work) {
    const database = await databased(name);
    try {
      return await new Promise((resolve, reject) => {
        const changes = database.transaction("kept", "readwrite", { durability: "strict" });
        const store = changes.objectStore("kept");
        const [keys, values] = [store.getAllKeys(), store.getAll()];
        let out, wrong;
        values.onsuccess = () => {
          try {
            out = work(
              new Records(
                keys.result.map((key, i) => [key, values.result[i]]),
                store,
              ),
            );
          } catch (error) {
            wrong = error;
            changes.abort();
          }
        };
        changes.oncomplete = () => resolve(out);
        changes.onabort = () => reject(wrong ?? changes.error);
      });
    } finally {
      database.close();
    }
  },
});

/** A Map whose changes go into a store. */
class Records extends Map {
  constructor(entries, store) {
    super(entries);
    this.store = store;
  }

  set(key, value) {
    this.store?.put(value, key); // none yet while they are read
    return super.set(key, value);
  }

  delete(key) {
    this.store.delete(key);
    return super.delete(key);
  }
}

const databased = (name) =>
  new Promise((resolve, reject) => {
    const asked = indexedDB.open(name, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });

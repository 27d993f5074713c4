// The console as people use it, over each database there is: with programs at work, and away and back.
import assert from "node:assert/strict";
import { accessible, databases, eventually, noScroll, open, press, shot, start, text } from "./harness.mjs";

/** deskTests returns the tests of the console, by a desk. */
export const deskTests = (desk) => Object.assign({}, ...Object.entries(databases()).map(([name, database]) => testsOver(desk, name, database)));

const testsOver = (desk, name, database) => ({
  async [`console: over ${name}, find the failed job, learn why, put it back, in five clicks`](t) {
    const { address } = await start(t, desk, [database(t), "127.0.0.1:0"]);
    const page = await open(t, address, { plain: true });
    let clicks = 0;
    const click = async (what) => { clicks++; await page.click(what); };
    const content = () => text(page, "main");
    await click("main a.name >> text=riverjob");
    await eventually(async () => assert.match(await content(), /discarded\s+1/), "one has failed");
    await shot(page, "light-desk-overview");
    await click('.picture a[href="records?state=discarded"]');
    await click("main table a >> text=mail-077");
    await eventually(async () => assert.match(await content(), /discarded\s+since[\s\S]*550 mailbox is full[\s\S]*fail[\s\S]*by worker-3/), "why it failed");
    await accessible(page, "console, a record with what can be done");
    await shot(page, "light-desk-record");
    assert.match(await content(), /retry…[\s\S]*→ available/);
    await click("main a.button >> text=retry…");
    await accessible(page, "console, the form of a step");
    await page.fill('input[name="reason"]', "the customer has made room");
    await shot(page, "light-desk-form");
    clicks++;
    await page.dblclick("main button.primary"); // the form is sent twice, and done once
    await eventually(async () => assert.match(await content(), /Done: retry is revision 4\.[\s\S]*available\s+since[\s\S]*by ann[\s\S]*the customer has made room/), "it is put back");
    assert.ok(clicks <= 5, `${clicks} clicks`);
    await shot(page, "light-desk-done");
    assert.equal(await page.locator("ol.line > li").count(), 4);
    await page.goBack();
    await eventually(async () => assert.match(await content(), /has moved since you looked at revision 3[\s\S]*the customer has made room/), "the form that was left is old");
  },

  async [`console: over ${name}, by the keyboard alone, makes a record, is refused, and ends another`](t) {
    const { address } = await start(t, desk, [database(t), "127.0.0.1:0"]);
    const page = await open(t, address, { plain: true, colorScheme: "dark" });
    const content = () => text(page, "main");
    page.expectedErrors.push(/status of 4\d\d/);
    await page.goto(new URL("production/order/records", address).href);
    await page.focus("main a.button >> text=New: place");
    await press(page, "Enter");
    await page.focus('input[name="id"]');
    await press(page, "o", "Tab");
    await page.keyboard.type("x");
    await press(page, "Tab");
    await page.keyboard.type("7");
    await press(page, "Enter");
    await eventually(async () => assert.match(await content(), /Refused, and nothing was done\. .*customer/), "a text that is too short");
    assert.equal(await page.inputValue('[name="in.total"]'), "7");
    await accessible(page, "console, a form that was refused");
    await shot(page, "dark-desk-refused");
    await page.fill('[name="in.customer"]', "eve@example.org");
    await page.focus('[name="in.total"]');
    await press(page, "Enter");
    await eventually(async () => assert.match(await content(), /Done: place is revision 1\.[\s\S]*eve@example\.org/), "it is made");
    await page.focus("main a.button >> text=cancel…");
    await press(page, "Enter");
    await page.focus("main button.primary");
    await press(page, "Enter");
    await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.name), "sure"), "the browser asks whether one is sure");
    await press(page, "Space", "Tab", "Enter");
    await eventually(async () => assert.match(await content(), /Done: cancel is revision 2\.[\s\S]*cancelled\s+since/), "it is ended");
  },

  async [`console: over ${name}, an effect is tried again and given up, and many records at once`](t) {
    const { address } = await start(t, desk, [database(t), "127.0.0.1:0"]);
    for (const scheme of ["light", "dark"]) {
      const page = await open(t, address, { plain: true, colorScheme: scheme });
      const content = () => text(page, "main");
      page.expectedErrors.push(/status of 4\d\d/);
      if (scheme === "light") {
        await page.goto(new URL("production/order/outbox", address).href);
        assert.match(await content(), /mail_receipt[\s\S]*i\/o timeout/);
        await accessible(page, "console, the outbox");
        await shot(page, "light-desk-outbox");
        await page.click("main button >> text=Try now");
        await page.click("main a.button >> text=Give up…");
        await accessible(page, "console, an effect is given up");
        await shot(page, "light-desk-giveup");
        await page.fill('input[name="reason"]', "nobody reads it");
        await page.click("main button.primary");
        await eventually(async () => assert.match(await content(), /No effect waits/), "it is given up");
        await page.goto(new URL("production/order/record?id=order-1", address).href);
        assert.match(await content(), /__giveup[\s\S]*nobody reads it/);
      }
      await page.goto(new URL("production/riverjob/records?state=available", address).href);
      await accessible(page, "console, a list with what can be done, " + scheme);
      await shot(page, scheme + "-desk-records");
      await page.selectOption('select[name="op"] >> nth=-1', "cancel");
      await page.fill('input[name="most"]', "60");
      await page.click("main button >> text=Count them…");
      await eventually(async () => assert.match(await content(), /cancel of 60 records[\s\S]*More records fitted/), "the count");
      await accessible(page, "console, a run before it begins, " + scheme);
      await shot(page, scheme + "-desk-preview");
      await page.fill('input[name="reason"]', "the shop is closed");
      await page.click("main button.primary");
      await eventually(async () => assert.match(await content(), /Done\s+60[\s\S]*It has ended/), "the run");
      await accessible(page, "console, a run that has ended, " + scheme);
      await shot(page, scheme + "-desk-run");
      await page.click(".top nav a >> text=Runs");
      await eventually(async () => assert.match(await content(), /cancel[\s\S]*ann[\s\S]*the shop is closed/), "the runs");
      await accessible(page, "console, runs, " + scheme);
      for (const [width, height] of [[360, 740], [320, 256]]) {
        await page.setViewportSize({ width, height });
        for (const path of ["records", "record?id=mail-077", "do?op=retry&id=mail-077", "create?op=insert", "runs"]) {
          await page.goto(new URL("production/riverjob/" + path, address).href);
          await noScroll(page, `the console's ${path} at ${width}`);
        }
        await page.goto(new URL("production/riverjob/create?op=insert", address).href);
        await shot(page, `${scheme}-desk-narrow-${width}`);
      }
    }
  },

  async [`console: over ${name}, says that the program is away, and when it is back`](t) {
    const file = database(t);
    const first = await start(t, desk, [file, "127.0.0.1:0"]);
    const page = await open(t, first.address, { plain: true });
    page.expectedErrors.push(/ERR_/, /status of/);
    await page.goto(new URL("production/order/", first.address).href);
    const fresh = () => text(page, "#fresh");
    await eventually(async () => assert.match(await fresh(), /Live\./), "it is told of changes");
    await first.stop();
    await eventually(async () => assert.match(await fresh(), /does not answer; this is old/), "it is away");
    await start(t, desk, [file, new URL(first.address).host]);
    await eventually(async () => assert.match(await fresh(), /Live\./), "it is back");
  },

  async [`console: over ${name}, under load: lists, owners, a record that moves, a step, many, and away and back`](t) {
    const file = database(t);
    const first = await start(t, desk, [file, "127.0.0.1:0", "load"]);
    const page = await open(t, first.address, { plain: true });
    const content = () => text(page, "main");
    const fresh = () => text(page, "#fresh");
    const at = (path) => new URL("production/" + path, first.address).href;
    page.expectedErrors.push(/ERR_/, /status of [45]\d\d/);
    // A list, by state; each row is what is asked for, however the records move.
    await page.goto(at("lifecycle/records"));
    await eventually(async () => assert.ok(await page.locator("table.list tbody tr").count() > 5), "jobs");
    await page.check('input[name="state"][value="succeeded"]');
    await page.click("main button.primary >> text=Show");
    await eventually(async () => assert.ok(page.url().includes("state=succeeded")), "the filter is in the address");
    assert.deepEqual([...new Set(await page.locator("table.list tbody .badge").allInnerTexts())], ["succeeded"]);
    const values = await page.locator("#values option").evaluateAll((list) => list.map((o) => o.value));
    assert.ok(values.length <= 100, "the words of the page");
    assert.ok((await page.locator("#actors option").evaluateAll((list) => list.map((o) => o.value))).some((v) => v.startsWith("worker-")), "who is at work is suggested");
    // Who has what.
    await page.click(".top nav a >> text=Owners");
    await eventually(async () => assert.match(await content(), /worker-steady\s+1\s+claimed 1/), "the owners");
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await accessible(page, "console, owners, " + scheme);
      await shot(page, `${scheme}-desk-owners`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.click("main a >> text=worker-steady");
    await eventually(async () => assert.equal(await page.locator("table.list tbody tr").count(), 1), "the records of one owner");
    // A record that moves: its page follows, and nobody touches it.
    await page.click("main table a >> text=steady");
    const revision = async () => Number((await content()).match(/since[\s\S]*?revision (\d+)/)[1]);
    await eventually(async () => assert.match(await fresh(), /Live\./), "it is told of changes");
    const before = await revision();
    await page.mouse.move(1, 1);
    await page.evaluate(() => document.activeElement.blur());
    await eventually(async () => assert.ok(await revision() > before + 3), "the page follows the record", 20000);
    // A step on one record.
    await page.goto(at("riverjob/record?id=mail-077"));
    await page.click("main a.button >> text=retry…");
    await page.fill('input[name="reason"]', "the customer has made room");
    await page.click("main button.primary");
    await eventually(async () => assert.match(await content(), /Done: retry is revision 4\./), "the step");
    // Many at once.
    await page.goto(at("riverjob/records?state=available"));
    await page.selectOption('select[name="op"] >> nth=-1', "cancel");
    await page.click("main button >> text=Count them…");
    await eventually(async () => assert.match(await content(), /cancel of 140 records/), "the count");
    await page.fill('input[name="reason"]', "the shop is closed");
    await page.click("main button.primary");
    await eventually(async () => assert.match(await content(), /Done\s+140[\s\S]*It has ended/), "the run", 20000);
    // The log, page after page, and a window of 360 pixels.
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ["lifecycle/owners", "lifecycle/log", "lifecycle/records", "lifecycle/"]) {
      await page.goto(at(path));
      await noScroll(page, `the console's ${path} at 360`);
      if (path === "lifecycle/owners") await shot(page, "light-desk-owners-narrow");
    }
    await page.setViewportSize({ width: 1360, height: 900 });
    await page.goto(at("lifecycle/log"));
    await page.click("main a.next");
    await eventually(async () => assert.match(await content(), /To the newest events/), "older events");
    // The program goes away, in the middle of its work, and comes back.
    await page.goto(at("riverjob/"));
    await eventually(async () => assert.match(await fresh(), /Live\./), "it is told of changes");
    await first.stop();
    await eventually(async () => assert.match(await fresh(), /does not answer; this is old/), "it is away");
    await start(t, desk, [file, new URL(first.address).host, "load"]);
    await eventually(async () => assert.match(await fresh(), /Live\./), "it is back", 15000);
    await page.goto(at("lifecycle/owners"));
    await eventually(async () => assert.match(await content(), /worker-steady\s+1\s+claimed 1/), "the owners, again");
  },
});

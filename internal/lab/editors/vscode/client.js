// The extension for VS Code: it starts `fsmgen lsp` and gives it the YAML files. The server
// leaves alone those that are no specification.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("fsmgen");
  const [command, ...args] = settings.get("command");
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient("fsmgen", "fsmgen", { command, args, options: { cwd } }, {
    documentSelector: [{ scheme: "file", language: "yaml" }, { scheme: "untitled", language: "yaml" }],
    initializationOptions: { keepStored: settings.get("keepStored") },
  });
  await client.start();
}

async function restart() {
  await client?.stop();
  await start();
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("fsmgen.restart", restart),
    vscode.workspace.onDidChangeConfiguration((e) => { if (e.affectsConfiguration("fsmgen")) void restart(); }),
  );
  await start();
};

exports.deactivate = () => client?.stop();

package lsp

import "encoding/json"

// The parts of the Language Server Protocol 3.17 that the server speaks.
type (
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"` // UTF-16 units
	}
	span struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	location struct {
		URI   string `json:"uri"`
		Range span   `json:"range"`
	}
	textEdit struct {
		Range   span   `json:"range"`
		NewText string `json:"newText"`
	}
	documentID struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	}
	contentChange struct {
		Range *span  `json:"range"`
		Text  string `json:"text"`
	}

	// at is the start of each request about a place.
	at struct {
		Document documentID `json:"textDocument"`
		Position position   `json:"position"`
	}
	openParams struct {
		Document struct {
			documentID
			Text string `json:"text"`
		} `json:"textDocument"`
	}
	changeParams struct {
		Document documentID      `json:"textDocument"`
		Changes  []contentChange `json:"contentChanges"`
	}
	referenceParams struct {
		at
		Context struct {
			Declaration bool `json:"includeDeclaration"`
		} `json:"context"`
	}
	renameParams struct {
		at
		NewName string `json:"newName"`
	}
	actionParams struct {
		Document documentID `json:"textDocument"`
		Range    span       `json:"range"`
		Context  struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	initializeParams struct {
		Options struct {
			KeepStored *bool `json:"keepStored"` // whether a rename keeps the stored word by `was`; default true
		} `json:"initializationOptions"`
	}

	diagnostic struct {
		Range    span              `json:"range"`
		Severity int               `json:"severity"`
		Code     string            `json:"code"`
		About    *codeDescription  `json:"codeDescription,omitempty"`
		Source   string            `json:"source"`
		Message  string            `json:"message"`
		Related  []relatedLocation `json:"relatedInformation,omitempty"`
	}
	codeDescription struct {
		Href string `json:"href"`
	}
	relatedLocation struct {
		Location location `json:"location"`
		Message  string   `json:"message"`
	}
	diagnosticsParams struct {
		URI         string       `json:"uri"`
		Version     int          `json:"version"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}

	completionItem struct {
		Label    string    `json:"label"`
		Kind     int       `json:"kind"`
		Detail   string    `json:"detail,omitempty"`
		Doc      *markup   `json:"documentation,omitempty"`
		Sort     string    `json:"sortText"`
		Edit     *textEdit `json:"textEdit"`
		Obsolete bool      `json:"deprecated,omitempty"`
	}
	completionList struct {
		Incomplete bool             `json:"isIncomplete"`
		Items      []completionItem `json:"items"`
	}
	markup struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	hover struct {
		Contents markup `json:"contents"`
		Range    *span  `json:"range,omitempty"`
	}
	symbol struct {
		Name     string   `json:"name"`
		Detail   string   `json:"detail,omitempty"`
		Kind     int      `json:"kind"`
		Range    span     `json:"range"`
		Selected span     `json:"selectionRange"`
		Children []symbol `json:"children,omitempty"`
	}
	highlight struct {
		Range span `json:"range"`
		Kind  int  `json:"kind"`
	}
	codeAction struct {
		Title     string         `json:"title"`
		Kind      string         `json:"kind"`
		Findings  []diagnostic   `json:"diagnostics,omitempty"`
		Preferred bool           `json:"isPreferred,omitempty"`
		Edit      *workspaceEdit `json:"edit,omitempty"`
	}
	workspaceEdit struct {
		Changes map[string][]textEdit `json:"changes"`
	}
	codeLens struct {
		Range   span    `json:"range"`
		Command command `json:"command"`
	}
	command struct {
		Title   string `json:"title"`
		Command string `json:"command"`
	}
	renameRange struct {
		Range       span   `json:"range"`
		Placeholder string `json:"placeholder"`
	}
	logMessage struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}
)

// Kinds of completion items and of symbols, by their numbers in the protocol.
const (
	itemFunction, itemField, itemClass, itemProperty = 3, 5, 7, 10
	itemValue, itemEnum, itemKeyword, itemEnumMember = 12, 13, 14, 20
	itemEvent, itemOperator                          = 23, 24

	symbolNamespace, symbolField, symbolEnum, symbolFunction = 3, 8, 10, 12
	symbolEnumMember, symbolEvent, symbolOperator, symbolKey = 22, 24, 25, 20
)

// capabilities is what the server can do.
var capabilities = json.RawMessage(`{
  "positionEncoding": "utf-16",
  "textDocumentSync": {"openClose": true, "change": 2, "save": false},
  "completionProvider": {"triggerCharacters": [" ", "[", "{", ",", ".", "-", "|"]},
  "hoverProvider": true,
  "definitionProvider": true,
  "referencesProvider": true,
  "documentHighlightProvider": true,
  "documentSymbolProvider": true,
  "codeActionProvider": {"codeActionKinds": ["quickfix", "source.fixAll"]},
  "codeLensProvider": {},
  "documentFormattingProvider": true,
  "renameProvider": {"prepareProvider": true}
}`)

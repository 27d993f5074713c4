// Command site writes the documents of the repository as pages: the same Markdown, with
// links between pages, a page for each finding, and the pictures of the machines.
//
// It refuses a link within the repository that leads nowhere. It reads no clock and no
// configuration, so the same tree gives the same bytes.
package main

// Package examples builds the workspaces that users copy: those in examples, and the one that
// docs/getting-started.md makes step by step, each in a directory outside of the repository.
package examples

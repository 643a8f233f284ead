// Package examples builds the workspaces that users copy: those in the directory examples, and the
// one that docs/getting-started.md creates step by step. Each is built outside of the repository.
package examples

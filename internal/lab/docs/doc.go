// Package docs holds the documents at the root of the repository to the code:
// its tests run or regenerate what they show. It has no code of its own.
package docs

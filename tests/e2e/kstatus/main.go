// Reads a v1 List from standard input and prints the status that kstatus computes of each item, as a JSON object
// from kind/namespace/name to [status, message].
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	var list unstructured.UnstructuredList
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	if err := list.UnmarshalJSON(text); err != nil {
		fail(err)
	}
	found := map[string][2]string{}
	for _, object := range list.Items {
		result, err := status.Compute(&object)
		if err != nil {
			fail(err)
		}
		name := fmt.Sprintf("%s/%s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		found[name] = [2]string{result.Status.String(), result.Message}
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

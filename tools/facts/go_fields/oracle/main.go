// Command oracle turns objects into protobuf and back as Go's clients and kube-apiserver do. It reads a question a line,
// as JSON, and writes an answer a line: for {"object": …} its protobuf in base64 as "data", for {"data": …, "kind": …,
// "version": …} the object, for what cannot be done an "error".
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type question struct {
	Object  json.RawMessage `json:"object"`
	Data    []byte          `json:"data"`
	Kind    string          `json:"kind"`
	Version string          `json:"version"`
}

type answer struct {
	Object json.RawMessage `json:"object,omitempty"`
	Data   []byte          `json:"data,omitempty"`
	Error  string          `json:"error,omitempty"`
}

type oracle struct {
	json     runtime.Serializer
	protobuf runtime.Serializer
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, admissionv1.AddToScheme, apidiscoveryv2.AddToScheme,
		apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, metav1.AddMetaToScheme,
	} {
		if err := add(scheme); err != nil {
			fail(err)
		}
	}
	asked := oracle{
		json:     jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{}),
		protobuf: protobuf.NewSerializer(scheme, scheme),
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var put question
		if err := json.Unmarshal(lines.Bytes(), &put); err != nil {
			fail(err)
		}
		text, err := json.Marshal(asked.answer(put))
		if err != nil {
			fail(err)
		}
		if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func (asked oracle) answer(put question) (told answer) {
	// What a server answers with 500 is a panic here.
	defer func() {
		if reason := recover(); reason != nil {
			told = answer{Error: fmt.Sprintf("panic: %v", reason)}
		}
	}()
	if put.Object != nil {
		data, err := recoded(asked.json, asked.protobuf, put.Object, nil)
		return answered(answer{Data: data}, err)
	}
	kind := schema.FromAPIVersionAndKind(put.Version, put.Kind)
	object, err := recoded(asked.protobuf, asked.json, put.Data, &kind)
	return answered(answer{Object: object}, err)
}

func recoded(from runtime.Decoder, to runtime.Encoder, data []byte, kind *schema.GroupVersionKind) ([]byte, error) {
	object, _, err := from.Decode(data, kind, nil)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	err = to.Encode(object, &written)
	return written.Bytes(), err
}

func answered(told answer, err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	return told
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(1)
}

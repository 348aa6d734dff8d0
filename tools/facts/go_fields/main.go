// Command go_fields prints what OpenAPI does not tell of Kubernetes' types: which fields are pointers in Go,
// which are left out when empty, how inlined structs are flattened, and what Go calls a field's type in its errors.
// With the argument "protobuf" it prints their fields as messages instead, with "templates" what a pod template is made
// of. One type a line, as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// field is what a Go struct says about one field of its JSON.
type field struct {
	Kind    string `json:"kind"`
	Of      string `json:"of,omitempty"`
	Pointer bool   `json:"pointer,omitempty"`
	Omit    string `json:"omit,omitempty"`
	// Type is Go's own name of the type, where Kind and Of do not tell it: "int32", "v1.PullPolicy", "[]*v1.Taint".
	Type string `json:"type,omitempty"`
	// Inline names the embedded structs that the field is found through, as paths in Go's errors do.
	Inline []string `json:"inline,omitempty"`
}

// fields keeps Go's order of declaration, which is the order on the wire.
type fields struct {
	names  []string
	byName map[string]field
}

type reflected map[string]*fields

var (
	marshaler = reflect.TypeFor[json.Marshaler]()
	alpha     = regexp.MustCompile(`/v\d+alpha\d+$`)
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, admissionv1.AddToScheme, apidiscoveryv2.AddToScheme,
		apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			fail(err)
		}
	}
	known := []reflect.Type{
		reflect.TypeFor[metav1.Status](), reflect.TypeFor[metav1.APIGroupList](), reflect.TypeFor[metav1.APIVersions](),
		reflect.TypeFor[metav1.APIResourceList](), reflect.TypeFor[metav1.Condition](), reflect.TypeFor[metav1.Table](),
		reflect.TypeFor[metav1.PartialObjectMetadataList](), reflect.TypeFor[metav1beta1.PartialObjectMetadataList](),
		reflect.TypeFor[version.Info](),
		// What annotations of autoscalers hold.
		reflect.TypeFor[autoscalingv1.MetricSpec](), reflect.TypeFor[autoscalingv1.MetricStatus](),
		reflect.TypeFor[autoscalingv1.HorizontalPodAutoscalerCondition](),
	}
	for _, goType := range scheme.AllKnownTypes() {
		known = append(known, goType)
	}
	if len(os.Args) > 1 && os.Args[1] == "protobuf" {
		found := messages{}
		for _, goType := range known {
			found.addMessage(goType)
		}
		write(found)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "templates" {
		write(podTemplates())
		return
	}
	types := reflected{}
	for _, goType := range known {
		types.add(goType)
	}
	write(types)
}

// add notes a struct and every struct that it is made of.
func (types reflected) add(goType reflect.Type) {
	if goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map {
		types.add(goType.Elem())
		return
	}
	if goType.Kind() != reflect.Struct || isOpaque(goType) || alpha.MatchString(goType.PkgPath()) {
		return
	}
	name := openAPIName(goType)
	if types[name] != nil {
		return
	}
	types[name] = &fields{byName: map[string]field{}}
	types.addFields(types[name], goType, nil)
}

func (types reflected) addFields(found *fields, goType reflect.Type, inline []string) {
	for i := range goType.NumField() {
		goField := goType.Field(i)
		name, options, _ := strings.Cut(goField.Tag.Get("json"), ",")
		switch {
		case name == "-" || !goField.IsExported():
		case name == "" && goField.Anonymous:
			types.addFields(found, indirect(goField.Type), append(inline[:len(inline):len(inline)], goField.Name))
		case name != "":
			described := describe(goField.Type, options)
			described.Inline = inline
			found.names = append(found.names, name)
			found.byName[name] = described
			types.add(goField.Type)
		}
	}
}

// MarshalJSON writes the fields in order.
func (found *fields) MarshalJSON() ([]byte, error) {
	parts := make([]string, 0, len(found.names))
	for _, name := range found.names {
		part, err := json.Marshal(found.byName[name])
		if err != nil {
			return nil, err
		}
		parts = append(parts, fmt.Sprintf("%q:%s", name, part))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

func describe(goType reflect.Type, options string) field {
	described := field{Pointer: goType.Kind() == reflect.Pointer}
	for option := range strings.SplitSeq(options, ",") {
		if rest, found := strings.CutPrefix(option, "omit"); found {
			described.Omit = rest
		}
	}
	goType = indirect(goType)
	described.Kind = kind(goType)
	switch described.Kind {
	case "struct":
		described.Of = openAPIName(goType)
	case "slice", "map":
		described.Of = item(goType.Elem())
	}
	if name := goType.String(); name != impliedType(described) {
		described.Type = name
	}
	return described
}

// impliedType is the name of a type that needs no telling.
func impliedType(described field) string {
	of := described.Of
	if labels := strings.Split(of, "."); len(labels) > 1 {
		of = strings.Join(labels[len(labels)-2:], ".")
	}
	switch described.Kind {
	case "struct":
		return of
	case "slice":
		return "[]" + of
	case "map":
		return "map[string]" + of
	case "bytes":
		return "[]uint8"
	}
	return described.Kind
}

func item(goType reflect.Type) string {
	switch found := kind(indirect(goType)); found {
	case "struct":
		return openAPIName(indirect(goType))
	case "slice":
		return "[]" + item(goType.Elem())
	case "map":
		return "{}" + item(goType.Elem())
	default:
		return found
	}
}

func kind(goType reflect.Type) string {
	switch goType.Kind() {
	case reflect.Bool, reflect.String, reflect.Map, reflect.Struct, reflect.Interface:
		return goType.Kind().String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return "int"
	case reflect.Float32, reflect.Float64:
		return "float"
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "slice"
	}
	fail(fmt.Errorf("%s: no name for Go's kind %s", goType, goType.Kind()))
	return ""
}

// isOpaque tells types that write their own JSON, such as Time and Quantity.
func isOpaque(goType reflect.Type) bool {
	return goType.Implements(marshaler) || reflect.PointerTo(goType).Implements(marshaler)
}

func openAPIName(goType reflect.Type) string {
	if named, ok := reflect.Zero(goType).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	domain, path, _ := strings.Cut(goType.PkgPath(), "/")
	labels := strings.Split(domain, ".")
	for left, right := 0, len(labels)-1; left < right; left, right = left+1, right-1 {
		labels[left], labels[right] = labels[right], labels[left]
	}
	return strings.Join(append(labels, strings.Split(path, "/")...), ".") + "." + goType.Name()
}

func indirect(goType reflect.Type) reflect.Type {
	if goType.Kind() == reflect.Pointer {
		return goType.Elem()
	}
	return goType
}

func write[Described any](types map[string]Described) {
	names := make([]string, 0, len(types))
	for name := range types {
		names = append(names, name)
	}
	sort.Strings(names)
	lines := make([]string, 0, len(names))
	for _, name := range names {
		fields, err := json.Marshal(types[name])
		if err != nil {
			fail(err)
		}
		lines = append(lines, fmt.Sprintf("%q:%s", name, fields))
	}
	fmt.Println("{\n" + strings.Join(lines, ",\n") + "\n}")
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go_fields:", err)
	os.Exit(1)
}

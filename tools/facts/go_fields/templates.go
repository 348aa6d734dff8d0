package main

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// templates is what a pod template is made of, by Go's name: a struct's fields with Go's name, the one on the wire and
// the type (none on the wire: inlined); of any other named type what is under the name. It is what a printed template, and so its hash, depends on.
type templates map[string]any

func podTemplates() templates {
	found := templates{}
	found.add(reflect.TypeFor[corev1.PodTemplateSpec]())
	return found
}

func (found templates) add(goType reflect.Type) {
	name := goType.String()
	switch {
	case found[name] != nil || isPrinted(name):
	case goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice:
		found.add(goType.Elem())
	case goType.Kind() == reflect.Map:
		if goType.Name() != "" {
			found[name] = "map[" + goType.Key().String() + "]" + goType.Elem().String()
		}
		found.add(goType.Key())
		found.add(goType.Elem())
	case goType.Kind() == reflect.Struct:
		fields := []string{}
		found[name] = &fields
		for i := range goType.NumField() {
			goField := goType.Field(i)
			wire, _, _ := strings.Cut(goField.Tag.Get("json"), ",")
			fields = append(fields, goField.Name+" "+wire+" "+goField.Type.String())
			found.add(goField.Type)
		}
	case goType.PkgPath() != "":
		found[name] = goType.Kind().String()
	}
}

// isPrinted tells the types that are no objects on the wire.
func isPrinted(name string) bool {
	return name == "resource.Quantity" || name == "v1.Time" || name == "intstr.IntOrString" || name == "v1.FieldsV1"
}

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// message is what a struct's tags say of its protobuf form. An inlined struct has no name in JSON; types of the same
// package begin with a dot.
type message []messageField

type messageField struct {
	number int
	goName string
	name   string
	kind   string
}

type messages map[string]message

type protobufMarshaler interface {
	MarshalToSizedBuffer([]byte) (int, error)
}

var protobuf = reflect.TypeFor[protobufMarshaler]()

// addMessage notes a struct that has a protobuf form, and every struct that it is made of.
func (found messages) addMessage(goType reflect.Type) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if isList(goType) {
			found[openAPIName(goType)] = message{{1, "Items", "", "[]string"}}
			return
		}
		found.addMessage(goType.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	name := openAPIName(goType)
	if _, known := found[name]; known || !isMessage(goType) || alpha.MatchString(goType.PkgPath()) {
		return
	}
	fields := message{}
	found[name] = fields
	for i := range goType.NumField() {
		goField := goType.Field(i)
		parts := strings.Split(goField.Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			fail(fmt.Errorf("%s.%s: %w", name, goField.Name, err))
		}
		jsonName, _, _ := strings.Cut(goField.Tag.Get("json"), ",")
		kind := strings.Replace(messageKind(goField.Type), name[:strings.LastIndex(name, ".")+1], ".", 1)
		fields = append(fields, messageField{number, goField.Name, jsonName, kind})
		found.addMessage(goField.Type)
	}
	sort.Slice(fields, func(left, right int) bool { return fields[left].number < fields[right].number })
	found[name] = fields
}

func isMessage(goType reflect.Type) bool {
	return goType.Implements(protobuf) || reflect.PointerTo(goType).Implements(protobuf)
}

// isList tells lists of texts with a name of their own, which are messages around what is in them.
func isList(goType reflect.Type) bool {
	return goType.Kind() == reflect.Slice && goType.Name() != "" && isMessage(goType)
}

// messageKind names a type as it is on the wire: "*" is a pointer, "[]" repeated, "{}" a map of texts to it.
func messageKind(goType reflect.Type) string {
	if isList(goType) || goType.Kind() == reflect.Struct && isMessage(goType) {
		return openAPIName(goType)
	}
	switch goType.Kind() {
	case reflect.Pointer:
		return "*" + messageKind(goType.Elem())
	case reflect.Map:
		return "{}" + messageKind(goType.Elem())
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + messageKind(goType.Elem())
	case reflect.Struct, reflect.Interface:
		fail(fmt.Errorf("%s: no protobuf form", goType))
	}
	return goType.Kind().String()
}

// MarshalJSON writes the fields by their numbers; Go's name is left out where it is JSON's with a capital.
func (fields message) MarshalJSON() ([]byte, error) {
	parts := make([]string, 0, len(fields))
	for _, field := range fields {
		facts := []string{field.name, field.kind}
		if field.name == "" || field.goName != strings.ToUpper(field.name[:1])+field.name[1:] {
			facts = append(facts, field.goName)
		}
		part, err := json.Marshal(facts)
		if err != nil {
			return nil, err
		}
		parts = append(parts, fmt.Sprintf("\"%d\":%s", field.number, part))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

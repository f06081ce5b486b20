// Receives webhooks: verifies each delivery, keeps it once, answers, and works on it afterwards.
//
//	FORMSVC_SIGNING_SECRET=whsec_... go run receiver.go [PORT]
//
// The standard library alone. What was kept is in the folder ~/.local/state/webhook-receiver/go, or where
// FORMSVC_INBOX says.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	bodyMax   = 1 << 20
	tolerance = 300 // seconds, either way
)

type event struct {
	Event        string          `json:"event"`
	SubmissionID string          `json:"submission_id"`
	Data         json.RawMessage `json:"data"`
}

type receiver struct {
	secret []byte
	inbox  string
	work   chan struct{}
}

// isRight says whether the service signed these bytes, about now.
func (r *receiver) isRight(header string, body []byte, now int64) bool {
	var times, signatures []string
	for _, part := range strings.Split(header, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "t":
			times = append(times, value)
		case "v1":
			signatures = append(signatures, value)
		}
	}
	if len(times) != 1 {
		return false
	}
	signedAt, err := strconv.ParseUint(times[0], 10, 40)
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, r.secret)
	mac.Write([]byte(times[0] + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	// One that matches is enough: while a secret is rotated there are two.
	matches := false
	for _, one := range signatures {
		matches = hmac.Equal([]byte(one), expected) || matches
	}
	age := now - int64(signedAt)
	return matches && age <= tolerance && age >= -tolerance
}

// keep keeps a submission, durably: the file is there whole, or not at all. False where it was kept before.
func (r *receiver) keep(submissionID string, body []byte) (bool, error) {
	work, err := os.CreateTemp(r.inbox, ".partial-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(work.Name())
	defer work.Close()
	if _, err := work.Write(body); err != nil {
		return false, err
	}
	if err := work.Sync(); err != nil {
		return false, err
	}
	// An id is any text, and no name of a file.
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(submissionID)))
	err = os.Link(work.Name(), filepath.Join(r.inbox, name))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	// The name lasts once the folder does.
	folder, err := os.Open(r.inbox)
	if err != nil {
		return false, err
	}
	defer folder.Close()
	return true, folder.Sync()
}

// handle is what the receiver is for. It may take as long as it likes.
func handle(e event) error {
	// Quoted, which keeps what strangers wrote from acting on the terminal; 200 characters of each, which may
	// be a megabyte.
	fmt.Printf("%.200q %.200q\n", e.SubmissionID, e.Data)
	return nil
}

// handleAll handles what is kept, also what a run before this one left. An error leaves it for the next time.
func (r *receiver) handleAll() {
	for range r.work {
		files, _ := filepath.Glob(filepath.Join(r.inbox, "*.json"))
		for _, file := range files {
			if _, err := os.Stat(file + ".handled"); err == nil {
				continue
			}
			var e event
			body, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(body, &e)
			}
			if err == nil {
				err = handle(e)
			}
			if err == nil {
				err = os.WriteFile(file+".handled", nil, 0o600)
			}
			if err != nil {
				log.Printf("not handled: %s: %q", file, err)
			}
		}
	}
}

func (r *receiver) workLater() {
	select {
	case r.work <- struct{}{}:
	default: // It will be looked at anyway.
	}
}

// take gives the status to answer with.
func (r *receiver) take(w http.ResponseWriter, request *http.Request) int {
	if request.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, bodyMax))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	} else if err != nil {
		return http.StatusBadRequest
	}
	headers := request.Header.Values("X-Service-Signature")
	if len(headers) != 1 || !r.isRight(headers[0], body, time.Now().Unix()) {
		return http.StatusUnauthorized
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return http.StatusBadRequest
	}
	if e.Event != "submission.created" {
		// Not for us. Anything but 2xx would have it sent again, for nothing.
		return http.StatusOK
	}
	if e.SubmissionID == "" {
		return http.StatusBadRequest
	}
	kept, err := r.keep(e.SubmissionID, body)
	if err != nil {
		log.Print(err)
		return http.StatusInternalServerError
	}
	if kept {
		r.workLater()
	}
	return http.StatusOK
}

// ServeHTTP answers with the status alone: a text could only tell strangers something.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	status := r.take(w, request)
	w.WriteHeader(status)
}

func main() {
	log.SetFlags(0)
	inbox, port := os.Getenv("FORMSVC_INBOX"), "9000"
	if inbox == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			log.Fatal(err)
		}
		inbox = filepath.Join(home, ".local", "state", "webhook-receiver", "go")
	}
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	r := &receiver{[]byte(os.Getenv("FORMSVC_SIGNING_SECRET")), inbox, make(chan struct{}, 1)}
	if len(r.secret) == 0 {
		log.Fatal("set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint")
	}
	if err := os.MkdirAll(inbox, 0o700); err != nil {
		log.Fatal(err)
	}
	// This machine alone: what is in front of it speaks HTTPS.
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	go r.handleAll()
	r.workLater()
	fmt.Printf("listening on http://%s/\n", listener.Addr())
	// For a sender that stops in the middle.
	server := &http.Server{Handler: r, ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

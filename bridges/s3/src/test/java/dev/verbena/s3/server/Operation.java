package dev.verbena.s3.server;

import java.util.Map;

/** The operations of the server. */
public enum Operation {
  PUT_OBJECT,
  GET_OBJECT,
  HEAD_OBJECT,
  DELETE_OBJECT,
  CREATE_MULTIPART_UPLOAD,
  UPLOAD_PART,
  COMPLETE_MULTIPART_UPLOAD,
  ABORT_MULTIPART_UPLOAD,
  LIST_OBJECTS_V2,
  CREATE_BUCKET,
  HEAD_BUCKET,
  /** Connects a queue pair for {@code rc:} tokens. */
  RC_CONNECT,
  RC_DISCONNECT,
  OTHER;

  static Operation of(String method, String path, String key, Map<String, String> query) {
    boolean upload = query.containsKey("uploadId");
    return switch (method) {
      case "PUT" ->
          key.isEmpty()
              ? CREATE_BUCKET
              : query.containsKey("partNumber") ? UPLOAD_PART : PUT_OBJECT;
      case "GET" ->
          !key.isEmpty() ? GET_OBJECT : query.containsKey("list-type") ? LIST_OBJECTS_V2 : OTHER;
      case "HEAD" -> key.isEmpty() ? HEAD_BUCKET : HEAD_OBJECT;
      case "DELETE" -> key.isEmpty() ? OTHER : upload ? ABORT_MULTIPART_UPLOAD : DELETE_OBJECT;
      case "POST" ->
          switch (path) {
            case "/.s3rdma-rc/connect" -> RC_CONNECT;
            case "/.s3rdma-rc/disconnect" -> RC_DISCONNECT;
            default ->
                query.containsKey("uploads")
                    ? CREATE_MULTIPART_UPLOAD
                    : upload ? COMPLETE_MULTIPART_UPLOAD : OTHER;
          };
      default -> OTHER;
    };
  }
}

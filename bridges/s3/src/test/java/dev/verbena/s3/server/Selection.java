package dev.verbena.s3.server;

import java.util.Arrays;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a GET or HEAD selects of an object.
 *
 * @param object the object
 * @param from the offset of the first byte
 * @param length the number of bytes
 * @param status 206 for a range or a part, else 200
 * @param checksums the checksums of what is selected
 */
record Selection(
    StoredObject object, int from, int length, int status, Map<String, String> checksums) {
  private static final Pattern RANGE = Pattern.compile("bytes=(\\d*)-(\\d*)");

  static Selection of(StoredObject object, S3Request request) {
    String part = request.query().get("partNumber");
    if (part != null) {
      return part(object, Integer.parseInt(part));
    }
    int size = object.data().length;
    Matcher range = RANGE.matcher(request.header("range").orElse(""));
    if (!range.matches() || range.group().equals("bytes=-")) {
      return new Selection(object, 0, size, 200, object.checksums());
    }
    long from;
    long end;
    if (range.group(1).isEmpty()) {
      from = Math.max(0, size - Long.parseLong(range.group(2)));
      end = size;
    } else {
      from = Long.parseLong(range.group(1));
      end = range.group(2).isEmpty() ? size : Math.min(size, Long.parseLong(range.group(2)) + 1);
    }
    if (from >= end) {
      throw new S3Exception(416, "InvalidRange", "the object has " + size + " bytes")
          .with("content-range", "bytes */" + size);
    }
    boolean all = from == 0 && end == size;
    return new Selection(
        object, (int) from, (int) (end - from), 206, all ? object.checksums() : Map.of());
  }

  private static Selection part(StoredObject object, int number) {
    if (number < 1 || number > Math.max(1, object.parts().size())) {
      throw new S3Exception(416, "InvalidPartNumber", "no part " + number);
    }
    if (object.parts().isEmpty()) {
      return new Selection(object, 0, object.data().length, 206, object.checksums());
    }
    int from = object.parts().stream().limit(number - 1).mapToInt(p -> p.data().length).sum();
    StoredObject.StoredPart part = object.parts().get(number - 1);
    return new Selection(object, from, part.data().length, 206, part.checksums());
  }

  byte[] data() {
    return Arrays.copyOfRange(object.data(), from, from + length);
  }

  /** {@return an answer with all headers, and without a body} */
  Reply reply(S3Request request) {
    Reply reply =
        new Reply(status)
            .with("etag", object.etag())
            .with("accept-ranges", "bytes")
            .with("last-modified", object.lastModified());
    object.metadata().forEach(reply::with);
    if (status == 206 && object.data().length > 0) {
      reply.with(
          "content-range",
          "bytes %d-%d/%d".formatted(from, from + length - 1, object.data().length));
    }
    if (request.query().containsKey("partNumber") && !object.parts().isEmpty()) {
      reply.with("x-amz-mp-parts-count", String.valueOf(object.parts().size()));
    }
    if (request.header("x-amz-checksum-mode").orElse("").equalsIgnoreCase("ENABLED")) {
      checksums.forEach(reply::with);
    }
    reply.length = length;
    return reply;
  }
}

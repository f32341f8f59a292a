package dev.verbena.s3;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.util.Collections;
import java.util.Map;
import java.util.UUID;
import java.util.WeakHashMap;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/** Hands the memory to which a server wrote to the program, or reads an HTTP body. */
final class SegmentTransformer implements ResponseTransformer<GetObjectResponse, S3Segment> {
  /** By its value, a response refers to what was received. */
  static final String HEADER = "x-verbena-content";

  private static final int CHUNK = 1 << 20;

  private static final Map<String, WeakReference<Content>> RECEIVED =
      Collections.synchronizedMap(new WeakHashMap<>());

  /**
   * Returns a value of the header, by which the content is found as long as both are in use. No
   * server can guess it.
   */
  static String offer(Content content) {
    String name = UUID.randomUUID().toString();
    RECEIVED.put(name, new WeakReference<>(content));
    return name;
  }

  @Override
  public S3Segment transform(GetObjectResponse response, AbortableInputStream body)
      throws IOException {
    Arena arena = Arena.ofShared();
    try {
      S3Segment received = received(response, arena);
      if (received != null) {
        return received; // Closing the body would end it.
      }
      try (body) {
        return new S3Segment(response, arena, read(response, body, arena), false);
      }
    } catch (Throwable t) {
      arena.close();
      throw t;
    }
  }

  /** Returns what was received by RDMA; null if nothing was. */
  private static S3Segment received(GetObjectResponse response, Arena arena) throws IOException {
    Content content =
        response
            .sdkHttpResponse()
            .firstMatchingHeader(HEADER)
            .map(RECEIVED::get)
            .map(Reference::get)
            .orElse(null);
    if (content == null) {
      return null;
    }
    MemorySegment segment = content.segment(arena);
    if (segment == null) {
      throw new IOException("the content is closed");
    }
    return new S3Segment(response, arena, segment, true);
  }

  private static MemorySegment read(
      GetObjectResponse response, AbortableInputStream body, Arena arena) throws IOException {
    if (response.contentLength() == null) {
      return arena.allocateFrom(ValueLayout.JAVA_BYTE, body.readAllBytes());
    }
    ReadableByteChannel channel = Channels.newChannel(body);
    MemorySegment segment = arena.allocate(response.contentLength());
    for (long at = 0; at < segment.byteSize(); ) {
      ByteBuffer part =
          segment.asSlice(at, Math.min(CHUNK, segment.byteSize() - at)).asByteBuffer();
      int count = channel.read(part);
      if (count < 0) {
        throw new EOFException(at + " of " + segment.byteSize() + " bytes");
      }
      at += count;
    }
    return segment;
  }

  @Override
  public boolean needsConnectionLeftOpen() {
    return true;
  }
}

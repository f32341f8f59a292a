package dev.verbena.s3.peer;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The functions of a C library. Arguments are a Byte for {@code uint8_t}, a Short for {@code
 * uint16_t}, an Integer for {@code int}, a Long for {@code size_t} and {@code uint64_t}, a String
 * for {@code const char *}, and a segment for other pointers.
 */
final class CLibrary {
  private final SymbolLookup symbols;

  CLibrary(Path file) {
    symbols = SymbolLookup.libraryLookup(file, Arena.global());
  }

  void run(String function, Object... arguments) {
    call(FunctionDescriptor.ofVoid(), function, arguments);
  }

  /** Calls a function that returns 0. */
  void succeed(String function, Object... arguments) {
    int status = (int) call(FunctionDescriptor.of(ValueLayout.JAVA_INT), function, arguments);
    if (status != 0) {
      throw new IllegalStateException(function + " returned " + status);
    }
  }

  short unsignedShort(String function, Object... arguments) {
    return (short) call(FunctionDescriptor.of(ValueLayout.JAVA_SHORT), function, arguments);
  }

  MemorySegment pointer(String function, Object... arguments) {
    return (MemorySegment) call(FunctionDescriptor.of(ValueLayout.ADDRESS), function, arguments);
  }

  MemorySegment struct(StructLayout type, String function, Object... arguments) {
    return (MemorySegment) call(FunctionDescriptor.of(type), function, arguments);
  }

  private Object call(FunctionDescriptor result, String function, Object... arguments) {
    List<MemoryLayout> parameters = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    if (result.returnLayout().filter(StructLayout.class::isInstance).isPresent()) {
      SegmentAllocator ofResult = Arena.ofAuto();
      values.add(ofResult);
    }
    for (Object argument : arguments) {
      parameters.add(layout(argument));
      values.add(argument instanceof String text ? Arena.global().allocateFrom(text) : argument);
    }
    try {
      return Linker.nativeLinker()
          .downcallHandle(
              symbols.find(function).orElseThrow(),
              result.appendArgumentLayouts(parameters.toArray(MemoryLayout[]::new)))
          .invokeWithArguments(values);
    } catch (Throwable t) {
      throw new IllegalStateException(function + " was not called", t);
    }
  }

  private static MemoryLayout layout(Object argument) {
    return switch (argument) {
      case Byte _ -> ValueLayout.JAVA_BYTE;
      case Short _ -> ValueLayout.JAVA_SHORT;
      case Integer _ -> ValueLayout.JAVA_INT;
      case Long _ -> ValueLayout.JAVA_LONG;
      default -> ValueLayout.ADDRESS;
    };
  }
}

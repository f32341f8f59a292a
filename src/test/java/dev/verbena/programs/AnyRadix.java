package dev.verbena.programs;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a number such as 2048 or 0x0800. */
final class AnyRadix implements ITypeConverter<Integer> {
  @Override
  public Integer convert(String text) {
    try {
      return Integer.decode(text);
    } catch (NumberFormatException e) {
      throw new TypeConversionException("'" + text + "' is not a number");
    }
  }
}

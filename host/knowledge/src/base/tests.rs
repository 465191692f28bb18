mod imports;
mod searches;
mod toy;
